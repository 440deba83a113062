// SPDX-License-Identifier: Apache-2.0
/// float32 products on the 16-bit tensor cores: every number, scaled by a power of two that brings
/// the largest of its neighbours to 2^14 .. 2^15, is the sum of two halves, and
/// x y = high high + low high + high low up to 2^-22. As exact as three products of tf32 parts, in
/// half their time.
///
/// A number keeps all 22 bits down to 2^-17 of the largest one that shares its scale; below that
/// its error is 2^-40 of the largest.
#pragma once

#include <cstdint>
#include <cuda_fp16.h>

namespace likewise::cuda {

/// The bits of |x|: they order as the numbers do, with NaN above all.
__device__ __forceinline__ std::uint32_t magnitude_bits(float x) {
  return __float_as_uint(x) & 0x7FFFFFFFU;
}

/// The power of two that brings the number with these bits to 2^14 .. 2^15; from 2^-114 to 2^126.
__device__ __forceinline__ float split_scale(std::uint32_t bits) {
  const int exponent = static_cast<int>(bits >> 23);  // with the bias of 127
  return __uint_as_float(static_cast<std::uint32_t>(min(127 + 14 + 127 - exponent, 253)) << 23);
}

/// 1 / scale for a scale of split_scale.
__device__ __forceinline__ float inverse_scale(float scale) {
  return __uint_as_float((254U << 23) - __float_as_uint(scale));
}

/// Two neighbours along the depth of a product: `high` and `low` hold both, the first one below.
struct SplitPair {
  std::uint32_t high;
  std::uint32_t low;
};

__device__ __forceinline__ std::uint32_t half_bits(__half2 x) {
  return static_cast<std::uint32_t>(__half_as_ushort(__low2half(x))) |
         (static_cast<std::uint32_t>(__half_as_ushort(__high2half(x))) << 16);
}

__device__ __forceinline__ SplitPair split_pair(float x, float y, float scale) {
  const __half2 high = __floats2half2_rn(x * scale, y * scale);
  const float2 rounded = __half22float2(high);
  const __half2 low = __floats2half2_rn(fmaf(x, scale, -rounded.x), fmaf(y, scale, -rounded.y));
  return {half_bits(high), half_bits(low)};
}

/// The right operand of one product as it lies in memory: 16 bytes a lane.
struct alignas(16) SplitColumn {
  std::uint32_t high[2];
  std::uint32_t low[2];
};

__device__ __forceinline__ SplitColumn split_column(const float (&x)[4], float scale) {
  const SplitPair first = split_pair(x[0], x[1], scale);
  const SplitPair second = split_pair(x[2], x[3], scale);
  return {{first.high, second.high}, {first.low, second.low}};
}

}  // namespace likewise::cuda
