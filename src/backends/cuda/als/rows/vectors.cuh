// SPDX-License-Identifier: Apache-2.0
/// The vectors of a row that is solved by warps, in their registers.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

/// What a row's weights w and v are divided by before they are rounded: they are then at most 1.
/// For w a power of two.
struct RowBounds {
  float w = 1.0F;
  float v = 1.0F;
  __device__ __forceinline__ RowBounds(const RowProblem& problem, Index row) {
    const RowWeights& how = problem.weights;
    if (how.explicit_feedback) {
      v = how.target_scale;
    } else {
      w = __ldg(problem.largest + row);
      v = like_target(how.slope, w);
    }
  }
};

/// Vectors of kPadded numbers over the lanes of a warp: lane l has kOwn neighbours from l kOwn on.
/// Where several warps solve a row, each has the whole of every vector and does the same.
template <int kPadded>
struct RowVectors {
  static constexpr int kOwn = 2 * ((kPadded + 63) / 64);
  using Lane = float[kOwn];
  int lane = static_cast<int>(threadIdx.x) % 32;

  static __device__ __forceinline__ void load(Lane& to, const float* from, int lane) {
#pragma unroll
    for (int e = 0; e < kOwn; e += 2) {
      float2 pair = make_float2(0.0F, 0.0F);
      if (lane * kOwn + e < kPadded) {
        pair = *reinterpret_cast<const float2*>(from + lane * kOwn + e);
      }
      to[e] = pair.x;
      to[e + 1] = pair.y;
    }
  }
  static __device__ __forceinline__ void store(float* to, const Lane& from, int lane) {
#pragma unroll
    for (int e = 0; e < kOwn; e += 2) {
      if (lane * kOwn + e < kPadded) {
        *reinterpret_cast<float2*>(to + lane * kOwn + e) = make_float2(from[e], from[e + 1]);
      }
    }
  }
  static __device__ __forceinline__ float dot(const Lane& a, const Lane& b) {
    float sum = 0.0F;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) sum = fmaf(a[e], b[e], sum);
    return warp_sum(sum);
  }

  // ---- what solve_row() asks of vectors
  __device__ __forceinline__ void load(Lane& to, const float* from) const { load(to, from, lane); }
  __device__ __forceinline__ float sum(float part) const { return warp_sum(part); }
  [[nodiscard]] __device__ __forceinline__ Offset columns() const { return kPadded; }
  /// Whether this thread is one of those that write a solution.
  [[nodiscard]] __device__ __forceinline__ bool writes() const { return threadIdx.x < 32; }
  __device__ __forceinline__ void store(float* to, const Lane& from) const {
    store(to, from, lane);
  }
};

}  // namespace likewise::cuda
