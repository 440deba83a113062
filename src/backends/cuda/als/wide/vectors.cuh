// SPDX-License-Identifier: Apache-2.0
/// The vectors of a row that a whole block solves (rows/gradients.cuh), for tables too wide for the
/// registers of a warp: 128 threads have the numbers, thread t those of columns t + 128 e.
#pragma once

#include "backends/cuda/device/warp.cuh"
#include "likewise/types.h"

namespace likewise::cuda {

inline constexpr int kSliceColumns = 128;

template <int kSlices>
struct BlockVectors {
  static constexpr int kOwn = kSlices;
  static constexpr int kColumns = kSlices * kSliceColumns;  ///< a vector's place
  static constexpr int kWarps = kSliceColumns / 32;         ///< that have numbers
  using Lane = float[kOwn];

  int padded;
  float* sums;           ///< [2][kWarps] in shared memory
  mutable int turn = 0;  ///< which half of `sums` is free
  int thread = static_cast<int>(threadIdx.x);

  [[nodiscard]] __device__ __forceinline__ bool writes() const { return thread < kSliceColumns; }
  [[nodiscard]] __device__ __forceinline__ Offset columns() const { return padded; }

  __device__ __forceinline__ void load(Lane& to, const float* from) const {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      const int at = thread + e * kSliceColumns;
      to[e] = writes() && at < padded ? from[at] : 0.0F;
    }
  }
  __device__ __forceinline__ void store(float* to, const Lane& from) const {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      const int at = thread + e * kSliceColumns;
      if (writes() && at < padded) to[at] = from[e];
    }
  }
  /// All threads call it, and get the sum.
  __device__ __forceinline__ float sum(float part) const {
    float* place = sums + turn * kWarps;
    turn ^= 1;
    if (writes()) {
      part = warp_sum(part);
      if (thread % 32 == 0) place[thread / 32] = part;
    }
    __syncthreads();
    float all = 0.0F;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) all += place[warp];
    return all;
  }
  /// To shared memory, the columns beyond the table as zeros.
  __device__ __forceinline__ void share(float* to, const Lane& from) const {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      if (writes()) to[thread + e * kSliceColumns] = from[e];
    }
  }
  /// own = the sum of the vectors that `count` warps have put into shared memory.
  __device__ __forceinline__ void add_up(const float* parts, int count, Lane& own) const {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) own[e] = 0.0F;
    if (!writes()) return;
    for (int part = 0; part < count; ++part) {
#pragma unroll
      for (int e = 0; e < kOwn; ++e) own[e] += parts[part * kColumns + thread + e * kSliceColumns];
    }
  }
};

}  // namespace likewise::cuda
