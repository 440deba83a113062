// SPDX-License-Identifier: Apache-2.0
/// Sums over some lanes of a warp that leave each lane with a part of the results.
#pragma once

namespace likewise::cuda {

/// Adds values[] over the lanes that differ in the bits of kMask, halving the number of values
/// with every bit: value(s) that stay in a lane are given by its bits, the first bit first.
template <int kCount, int kFirstBit, int kLastBit>
__device__ __forceinline__ void scatter_sum(float (&values)[kCount], int lane) {
  int count = kCount;
#pragma unroll
  for (int bit = kFirstBit; bit <= kLastBit; bit *= 2) {
    const bool upper = (lane & bit) != 0;
    count /= 2;
#pragma unroll
    for (int i = 0; i < kCount / 2; ++i) {
      if (i < count) {
        const float keep = upper ? values[i + count] : values[i];
        const float send = upper ? values[i] : values[i + count];
        values[i] = keep + __shfl_xor_sync(0xffffffffU, send, bit);
      }
    }
  }
}

}  // namespace likewise::cuda
