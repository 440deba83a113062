// SPDX-License-Identifier: Apache-2.0
/// Teams of neighbouring threads of a warp, each with one row of factors in its registers.
#pragma once

#include "backends/cuda/sgd/stored_numbers.cuh"
#include "likewise/types.h"

namespace likewise::cuda {

inline constexpr int kTeamBlock = 128;  ///< threads

/// kLanes threads that hold rows of at most kLanes * 8 * kVectors numbers: lane l has those from
/// 8 (v kLanes + l) of each vector v.
template <class T, int kLanes, int kVectors>
struct Team {
  static constexpr int kNumbers = 8 * kVectors;
  static constexpr int kTeams = kTeamBlock / kLanes;  ///< of a block

  /// A lane's part of a row.
  struct Stored {
    StoredEight<T> eight[kVectors];
  };

  __device__ __forceinline__ explicit Team(int columns)
      : columns_(columns),
        lane_(static_cast<int>(threadIdx.x) % kLanes),
        mask_(kLanes == 32 ? 0xffffffffU
                           : ((1U << (kLanes % 32)) - 1U) << (threadIdx.x % 32 / kLanes * kLanes)) {
  }

  [[nodiscard]] __device__ __forceinline__ int lane() const { return lane_; }

  template <bool kFixed>
  __device__ __forceinline__ Stored load(const void* rows, Index row) const {
    Stored stored{};
    const T* const line = static_cast<const T*>(rows) + Offset{row} * columns_;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = 8 * (v * kLanes + lane_);
      if (column >= columns_) continue;
      stored.eight[v] = kFixed ? load_fixed(line + column) : load_shared(line + column);
    }
    return stored;
  }
  __device__ __forceinline__ void put(const Stored& stored, void* rows, Index row) const {
    T* const line = static_cast<T*>(rows) + Offset{row} * columns_;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = 8 * (v * kLanes + lane_);
      if (column < columns_) store(stored.eight[v], line + column);
    }
  }
  static __device__ __forceinline__ void open(const Stored& stored, float (&x)[kNumbers]) {
#pragma unroll
    for (int v = 0; v < kVectors; ++v) unpack(stored.eight[v], x + 8 * v);
  }
  static __device__ __forceinline__ Stored round(const float (&x)[kNumbers]) {
    Stored stored;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) pack(x + 8 * v, stored.eight[v]);
    return stored;
  }
  static __device__ __forceinline__ Stored round_at_random(const float (&x)[kNumbers],
                                                           std::uint32_t random) {
    Stored stored;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) pack_at_random(x + 8 * v, random, stored.eight[v]);
    return stored;
  }

  /// The same sum in every lane of the team, to the bit.
  [[nodiscard]] __device__ __forceinline__ float sum(float x) const {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      x += __shfl_xor_sync(mask_, x, distance, 32);
    }
    return x;
  }
  /// What `from` (a lane of the team) has.
  template <class Number>
  [[nodiscard]] __device__ __forceinline__ Number of_lane(Number x, int from) const {
    return __shfl_sync(mask_, x, from, kLanes);
  }
  /// What the lanes before wrote is seen by all lanes behind.
  __device__ __forceinline__ void synchronize() const { __syncwarp(mask_); }

  [[nodiscard]] __device__ __forceinline__ float dot(const float (&x)[kNumbers],
                                                     const float (&y)[kNumbers]) const {
    float parts[4] = {};
#pragma unroll
    for (int n = 0; n < kNumbers; ++n) parts[n % 4] += x[n] * y[n];
    return sum((parts[0] + parts[1]) + (parts[2] + parts[3]));
  }

 private:
  int columns_;
  int lane_;
  unsigned mask_;
};

/// Calls run(lanes, vectors), each a std::integral_constant, for rows of so many columns, at most
/// kMostTeamColumns (sgd_steps.h).
template <class Run>
void with_team_of(int columns, const Run& run) {
  using std::integral_constant;
  if (columns <= 32) return run(integral_constant<int, 4>(), integral_constant<int, 1>());
  if (columns <= 64) return run(integral_constant<int, 8>(), integral_constant<int, 1>());
  if (columns <= 128) return run(integral_constant<int, 8>(), integral_constant<int, 2>());
  if (columns <= 256) return run(integral_constant<int, 16>(), integral_constant<int, 2>());
  if (columns <= 512) return run(integral_constant<int, 32>(), integral_constant<int, 2>());
  return run(integral_constant<int, 32>(), integral_constant<int, 4>());
}

}  // namespace likewise::cuda
