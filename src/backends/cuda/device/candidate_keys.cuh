// SPDX-License-Identifier: Apache-2.0
/// The k best candidates of a row, kept by a block.
#pragma once

#include <cstdint>

#include "backends/cuda/device/warp.cuh"
#include "retrieval/top_k.h"

namespace likewise::cuda {

/// One number that orders as candidates do, higher before lower: never 0.
__device__ __forceinline__ std::uint64_t key_of(float score, Index row) {
  const auto bits = as<std::uint32_t>(score);
  const std::uint32_t rising = (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
  return (std::uint64_t{rising} << 32) | (0xFFFFFFFFU - static_cast<std::uint32_t>(row));
}

__device__ __forceinline__ Candidate candidate_of(std::uint64_t key) {
  const auto rising = static_cast<std::uint32_t>(key >> 32);
  const std::uint32_t bits = (rising & 0x80000000U) != 0 ? rising & 0x7FFFFFFFU : ~rising;
  return {as<float>(bits), static_cast<Index>(0xFFFFFFFFU - static_cast<std::uint32_t>(key))};
}

/// What its threads share; all call the functions together.
struct BestKeys {
  std::uint64_t threshold;  ///< of a full list: what is below has no place
  int count;
};

/// Keys sorted, highest first; `size` is a power of two.
template <int kThreads>
__device__ void sort_keys(std::uint64_t* keys, int size) {
  for (int run = 2; run <= size; run *= 2) {
    for (int step = run / 2; step > 0; step /= 2) {
      for (int i = threadIdx.x; i < size / 2; i += kThreads) {
        const int low = 2 * i - (i & (step - 1));
        const int high = low + step;
        const std::uint64_t a = keys[low];
        const std::uint64_t b = keys[high];
        if ((a < b) == ((low & run) == 0)) {
          keys[low] = b;
          keys[high] = a;
        }
      }
      __syncthreads();
    }
  }
}

/// Sorts what came together and drops all but the k best.
template <int kThreads>
__device__ void prune_keys(BestKeys& best, std::uint64_t* keys, int k) {
  const int count = best.count;
  int size = 2;
  while (size < count) size *= 2;
  for (int i = count + static_cast<int>(threadIdx.x); i < size; i += kThreads) keys[i] = 0;
  __syncthreads();
  sort_keys<kThreads>(keys, size);
  if (threadIdx.x == 0) {
    best.count = min(count, k);
    best.threshold = count >= k ? keys[k - 1] : 0;
  }
  __syncthreads();
}

/// Every thread brings a key, or 0.
template <int kThreads>
__device__ void offer_keys(BestKeys& best, std::uint64_t* keys, int capacity, int k,
                           std::uint64_t key) {
  const bool wanted = key > best.threshold;
  if (__syncthreads_or(wanted) == 0) return;
  const unsigned int takers = __ballot_sync(0xffffffffU, wanted);
  const int lane = threadIdx.x % 32;
  int base = 0;
  if (lane == 0 && takers != 0) base = atomicAdd(&best.count, __popc(takers));
  base = __shfl_sync(0xffffffffU, base, 0);
  if (wanted) keys[base + __popc(takers & ((1U << lane) - 1))] = key;
  __syncthreads();
  if (best.count + kThreads > capacity) prune_keys<kThreads>(best, keys, k);
}

}  // namespace likewise::cuda
