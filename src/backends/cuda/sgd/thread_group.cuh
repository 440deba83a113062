// SPDX-License-Identifier: Apache-2.0
/// Groups of neighbouring threads of a warp, each with one row of factors in its registers.
#pragma once

#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/sgd/stored_numbers.cuh"
#include "likewise/types.h"

namespace likewise::cuda {

inline constexpr int kGroupBlock = 128;  ///< threads at most

/// A launch of so many groups. Few of them are spread over as many multiprocessors as there are
/// warps.
struct GroupGrid {
  unsigned threads;
  unsigned blocks;

  GroupGrid(Index groups, int lanes)
      : threads(Offset{groups} * lanes < kFewThreads ? 32 : kGroupBlock),
        blocks(static_cast<unsigned>((Offset{groups} * lanes + threads - 1) / threads)) {}

  /// No more than there is room for at a time.
  template <class Kernel>
  void limit(const Kernel& kernel) {
    int room = 0;
    LIKEWISE_CUDA_CHECK(
        cudaOccupancyMaxActiveBlocksPerMultiprocessor(&room, kernel, static_cast<int>(threads), 0));
    blocks = std::min(blocks, static_cast<unsigned>(multiprocessor_count() * room));
  }

 private:
  static constexpr Offset kFewThreads = Offset{1} << 16;
};

/// kLanes threads that hold rows of at most kLanes * 8 * kVectors numbers: lane l has those from
/// 8 (v kLanes + l) of each vector v.
template <class T, int kLanes, int kVectors>
struct ThreadGroup {
  static constexpr int kNumbers = 8 * kVectors;

  /// A lane's part of a row.
  struct Stored {
    StoredEight<T> eight[kVectors];
  };

  __device__ __forceinline__ explicit ThreadGroup(int columns)
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
  /// Brings a whole row nearer, a lane its own.
  __device__ __forceinline__ void fetch(const void* rows, Index row) const {
    const auto* const line =
        reinterpret_cast<const char*>(static_cast<const T*>(rows) + Offset{row} * columns_);
    for (int byte = 0; byte < columns_ * static_cast<int>(sizeof(T)); byte += 128) {
      fetch_to_second_cache(line + byte);
    }
  }
  __device__ __forceinline__ void put(const Stored& stored, void* rows, Index row) const {
    T* const line = static_cast<T*>(rows) + Offset{row} * columns_;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = 8 * (v * kLanes + lane_);
      if (column < columns_) store(stored.eight[v], line + column);
    }
  }
  /// Adds what `stored` has more than `before`.
  __device__ __forceinline__ void add(const Stored& stored, const Stored& before, void* rows,
                                      Index row) const {
    T* const line = static_cast<T*>(rows) + Offset{row} * columns_;
#pragma unroll
    for (int v = 0; v < kVectors; ++v) {
      const int column = 8 * (v * kLanes + lane_);
      if (column < columns_) add_change(stored.eight[v], before.eight[v], line + column);
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

  /// The same sum in every lane of the group, bit-identical.
  [[nodiscard]] __device__ __forceinline__ float sum(float x) const {
#pragma unroll
    for (int distance = kLanes / 2; distance > 0; distance /= 2) {
      x += __shfl_xor_sync(mask_, x, distance, 32);
    }
    return x;
  }
  /// What `from` (a lane of the group) has.
  template <class Number>
  [[nodiscard]] __device__ __forceinline__ Number of_lane(Number x, int from) const {
    return __shfl_sync(mask_, x, from, kLanes);
  }

  /// Calls work(task) for a share of the tasks [0, count). Groups of a warp take neighbours, which
  /// had better be of one length. Which tasks come after the first says a counter, which begins at
  /// 0: whoever is through takes the next ones. Without one the order is fixed.
  template <class Work>
  __device__ __forceinline__ void each_task(Index count, Index* counter, const Work& work) const {
    constexpr int kGroups = 32 / kLanes;
    const auto groups = static_cast<Index>(gridDim.x * blockDim.x / kLanes);
    auto first = static_cast<Index>((blockIdx.x * blockDim.x + threadIdx.x) / 32 * kGroups);
    while (first < count) {  // alike in all of the warp
      const Index task = first + static_cast<Index>(threadIdx.x) % 32 / kLanes;
      if (task < count) work(task);
      if (counter == nullptr) {
        first += groups;
        continue;
      }
      const Index taken = threadIdx.x % 32 == 0 ? atomicAdd(counter, kGroups) : 0;
      first = groups + __shfl_sync(0xffffffffU, taken, 0);
    }
  }

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
/// kMostGroupColumns (sgd_steps.h).
template <class Run>
void with_group_of(int columns, const Run& run) {
  using std::integral_constant;
  if (columns <= 32) return run(integral_constant<int, 4>(), integral_constant<int, 1>());
  if (columns <= 64) return run(integral_constant<int, 8>(), integral_constant<int, 1>());
  if (columns <= 128) return run(integral_constant<int, 8>(), integral_constant<int, 2>());
  if (columns <= 256) return run(integral_constant<int, 16>(), integral_constant<int, 2>());
  if (columns <= 512) return run(integral_constant<int, 32>(), integral_constant<int, 2>());
  return run(integral_constant<int, 32>(), integral_constant<int, 4>());
}

}  // namespace likewise::cuda
