// SPDX-License-Identifier: Apache-2.0
/// The score of a query and an item by a group of eight lanes.
#pragma once

#include "backends/cuda/top_k/top_k_scores.h"

namespace likewise::cuda {

inline constexpr int kGroupLanes = 8;  ///< as many as running sums of the CPU
inline constexpr int kGroupAhead = 8;  ///< loads of a lane in flight

/// By a group; the same in all of its lanes. Where many share `query`, it is in shared memory.
__device__ __forceinline__ float exact_score(const ExactItems& items, const float* query,
                                             Index place) {
  const int lane = static_cast<int>(threadIdx.x) % kGroupLanes;
  const unsigned group = 0xFFU << (threadIdx.x % 32 / kGroupLanes * kGroupLanes);
  const float* const row = items.rows + Offset{place} * items.pitch;
  double sum = 0.0;
  for (Index begin = lane; begin < items.pitch; begin += kGroupLanes * kGroupAhead) {
    float y[kGroupAhead];
#pragma unroll
    for (int u = 0; u < kGroupAhead; ++u) y[u] = row[begin + u * kGroupLanes];
#pragma unroll
    for (int u = 0; u < kGroupAhead; ++u) {
      const auto a = static_cast<double>(query[begin + u * kGroupLanes]);
      const auto b = static_cast<double>(y[u]);
      // Of a product of two float32 numbers nothing is lost; a square is rounded.
      sum = items.distances ? __dadd_rn(sum, __dmul_rn(a - b, a - b)) : fma(a, b, sum);
    }
  }
#pragma unroll
  for (int distance = kGroupLanes / 2; distance > 0; distance /= 2) {
    sum += __shfl_xor_sync(group, sum, distance);
  }
  if (items.distances) return -static_cast<float>(sum);
  const double bias = items.bias == nullptr ? 0.0 : static_cast<double>(items.bias[place]);
  return static_cast<float>(sum + bias);
}

}  // namespace likewise::cuda
