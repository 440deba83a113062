// SPDX-License-Identifier: Apache-2.0
/// A block adds up a range of the columns of B over one history, in registers: it reads as many
/// rows of B as the history has entries, and nothing else to speak of. Blocks of one range follow
/// each other, so that the rows that many histories ask for come from the second cache: of 41,000
/// rows a range is 168 MB.
#include <algorithm>

#include "backends/cuda/device/candidate_keys.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/ease/weight_sums.h"
#include "backends/cuda/host/weight_lists_plan.h"

namespace likewise::cuda {
namespace {

constexpr int kSumThreads = 256;
constexpr Index kRange = 4 * kSumThreads;  ///< columns of a block
constexpr int kAhead = 8;                  ///< rows of B in flight
constexpr int kDenyThreads = 256;

/// Four columns of a thread.
struct Sums {
  double x = 0.0;
  double y = 0.0;
  double z = 0.0;
  double w = 0.0;

  /// Of a product of two float32 numbers float64 loses nothing: fused or not is the same.
  __device__ __forceinline__ void add(double value, const float4& row) {
    x = fma(value, static_cast<double>(row.x), x);
    y = fma(value, static_cast<double>(row.y), y);
    z = fma(value, static_cast<double>(row.z), z);
    w = fma(value, static_cast<double>(row.w), w);
  }
};

/// Entries of the history that the block has at hand.
struct Portion {
  Index items[kSumThreads];
  float values[kSumThreads];
};

/// Adds `count` entries.
__device__ __forceinline__ void add_portion(const Portion& portion, int count, const float* column,
                                            Index pitch, Sums& sums) {
  for (int begin = 0; begin < count; begin += kAhead) {
    float4 rows[kAhead] = {};
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (begin + u < count) {
        const float* const from = column + Offset{portion.items[begin + u]} * pitch;
        rows[u] = __ldg(reinterpret_cast<const float4*>(from));
      }
    }
#pragma unroll
    for (int u = 0; u < kAhead; ++u) {
      if (begin + u < count) sums.add(static_cast<double>(portion.values[begin + u]), rows[u]);
    }
  }
}

[[nodiscard]] __device__ __forceinline__ float score_of(const WeightSums& sums, Index column,
                                                        double sum, bool& finite) {
  const auto score = static_cast<float>(sum);
  if (column >= sums.items) return kNoScore;
  finite = finite && isfinite(score);
  return sums.allowed == nullptr || sums.allowed[column] != 0 ? score : kNoScore;
}

/// History order[blockIdx.x], columns from blockIdx.y * kRange on.
__global__ void __launch_bounds__(kSumThreads)
    sum_kernel(const WeightSums sums, float* scores, int* infinite) {
  __shared__ Portion portion;
  const Index row = sums.order[blockIdx.x];
  const Index column =
      static_cast<Index>(blockIdx.y) * kRange + 4 * static_cast<Index>(threadIdx.x);
  const bool inside = column < sums.pitch;  // whole fours: pitch is a multiple of 16
  const float* const from = sums.weights + (inside ? column : 0);
  const Offset begin = sums.offsets[row] - sums.offsets[0];
  const Offset end = sums.offsets[row + 1] - sums.offsets[0];
  Sums own;
  for (Offset first = begin; first < end; first += kSumThreads) {
    const Offset at = first + threadIdx.x;
    if (at < end) {
      portion.items[threadIdx.x] = sums.entry_items[at];
      portion.values[threadIdx.x] = sums.values[at];
    }
    __syncthreads();
    const int count = static_cast<int>(min(Offset{kSumThreads}, end - first));
    if (inside) add_portion(portion, count, from, sums.pitch, own);
    __syncthreads();
  }
  if (!inside) return;
  bool finite = true;
  float4 rounded;
  rounded.x = score_of(sums, column, own.x, finite);
  rounded.y = score_of(sums, column + 1, own.y, finite);
  rounded.z = score_of(sums, column + 2, own.z, finite);
  rounded.w = score_of(sums, column + 3, own.w, finite);
  // Past the second cache, which is for B.
  __stcs(reinterpret_cast<float4*>(scores + Offset{row} * sums.pitch + column), rounded);
  if (!finite) infinite[row] = 1;
}

/// A block for each history.
__global__ void __launch_bounds__(kDenyThreads) deny_kernel(const WeightSums sums, float* scores) {
  const auto row = static_cast<Index>(blockIdx.x);
  float* const own = scores + Offset{row} * sums.pitch;
  const Offset begin = sums.excluded_offsets[row] - sums.excluded_offsets[0];
  const Offset end = sums.excluded_offsets[row + 1] - sums.excluded_offsets[0];
  for (Offset at = begin + threadIdx.x; at < end; at += kDenyThreads) {
    const Index item = sums.excluded[at];
    if (item >= 0 && item < sums.items) own[item] = kNoScore;
  }
}

/// 0 for what is no answer. Of two zeros neither comes first for its sign.
[[nodiscard]] __device__ __forceinline__ std::uint64_t key_of_score(float score, Index item) {
  return score == kNoScore ? 0 : key_of(score + 0.0F, item);
}

/// A block for each history: the scores come by, and those above the worst of a full list are kept.
__global__ void __launch_bounds__(kSumThreads)
    list_kernel(const WeightSums sums, const float* scores, const int* infinite,
                const TopKLists lists, int capacity) {
  extern __shared__ std::uint64_t keys[];
  __shared__ BestKeys best;
  const auto row = static_cast<Index>(blockIdx.x);
  Index* const items_of = lists.words + Offset{row} * TopKLists::words_of(lists.k);
  auto* const scores_of = reinterpret_cast<float*>(items_of + lists.k);
  if (threadIdx.x == 0) best = {0, 0};
  __syncthreads();
  const float* const own = scores + Offset{row} * sums.pitch;
  for (Index begin = 0; begin < sums.pitch; begin += kRange) {
    const Index column = begin + 4 * static_cast<Index>(threadIdx.x);
    std::uint64_t offered[4] = {0, 0, 0, 0};
    if (column < sums.pitch) {
      const float4 four = __ldcs(reinterpret_cast<const float4*>(own + column));
      offered[0] = key_of_score(four.x, column);
      offered[1] = key_of_score(four.y, column + 1);
      offered[2] = key_of_score(four.z, column + 2);
      offered[3] = key_of_score(four.w, column + 3);
    }
    const std::uint64_t most = max(max(offered[0], offered[1]), max(offered[2], offered[3]));
    if (__syncthreads_or(most > best.threshold) == 0) continue;
#pragma unroll
    for (const std::uint64_t key : offered) {
      offer_keys<kSumThreads>(best, keys, capacity, lists.k, key);
    }
  }
  prune_keys<kSumThreads>(best, keys, lists.k);
  const int found = best.count;
  for (int at = static_cast<int>(threadIdx.x); at < lists.k; at += kSumThreads) {
    const Candidate one = at < found ? candidate_of(keys[at]) : Candidate{0.0F, 0};
    items_of[at] = one.item;
    scores_of[at] = one.score;
  }
  if (threadIdx.x == 0) {
    items_of[2 * lists.k] = infinite[row] != 0 ? KeptPlaces::kTooMany : found;
  }
}

}  // namespace

void sum_weights(const WeightSums& sums, float* scores, int* infinite, cudaStream_t stream) {
  if (sums.rows == 0 || sums.pitch == 0) return;
  const dim3 grid(static_cast<unsigned>(sums.rows),
                  static_cast<unsigned>((sums.pitch + kRange - 1) / kRange));
  sum_kernel<<<grid, kSumThreads, 0, stream>>>(sums, scores, infinite);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  if (sums.excluded_offsets == nullptr) return;
  deny_kernel<<<grid.x, kDenyThreads, 0, stream>>>(sums, scores);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void list_scores(const WeightSums& sums, const float* scores, const int* infinite,
                 const TopKLists& lists, cudaStream_t stream) {
  if (sums.rows == 0) return;
  int capacity = 4 * kSumThreads;  // a power of two: what is sorted is one too
  while (capacity < lists.k + 2 * kSumThreads) capacity *= 2;
  const int shared = capacity * static_cast<int>(sizeof(std::uint64_t));
  allow_shared_memory(list_kernel, shared);
  list_kernel<<<static_cast<unsigned>(sums.rows), kSumThreads, static_cast<std::size_t>(shared),
                stream>>>(sums, scores, infinite, lists, capacity);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
