// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/candidate_keys.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/top_k/exact_score.cuh"
#include "backends/cuda/top_k/top_k_scores.h"

namespace likewise::cuda {
namespace {

constexpr int kScoreThreads = 128;
constexpr int kScoreGroups = kScoreThreads / kGroupLanes;

__device__ __forceinline__ void load_query(const ExactItems& items, const float* from,
                                           float* query) {
  for (Index j = static_cast<Index>(threadIdx.x); j < items.pitch; j += kScoreThreads) {
    query[j] = from[j];
  }
}

/// A block for each query.
__global__ void __launch_bounds__(kScoreThreads)
    list_kernel(const ExactItems items, const float* queries, const KeptPlaces kept,
                const TopKLists lists, int most_keys) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const keys = reinterpret_cast<std::uint64_t*>(memory);
  auto* const query = reinterpret_cast<float*>(keys + most_keys);
  __shared__ BestKeys best;
  const auto q = static_cast<Index>(blockIdx.x);
  const int* const counts = kept.counts + Offset{q} * kept.shares;
  bool too_many = false;
  int total = 0;
  for (int share = 0; share < kept.shares; ++share) {
    too_many = too_many || counts[share] < 0;
    total += counts[share];
  }
  Index* const items_of = lists.words + Offset{q} * TopKLists::words_of(lists.k);
  auto* const scores_of = reinterpret_cast<float*>(items_of + lists.k);
  Index& count = items_of[2 * lists.k];
  const auto fill = [&](int from) {  // what has no answer
    for (int at = from + static_cast<int>(threadIdx.x); at < lists.k; at += kScoreThreads) {
      items_of[at] = 0;
      scores_of[at] = 0.0F;
    }
  };
  if (too_many || total > most_keys) {  // alike in all threads
    fill(0);
    if (threadIdx.x == 0) count = KeptPlaces::kTooMany;
    return;
  }
  load_query(items, queries + Offset{q} * items.pitch, query);
  if (threadIdx.x == 0) best.count = total;
  __syncthreads();
  const int group = static_cast<int>(threadIdx.x) / kGroupLanes;
  int before = 0;
  for (int share = 0; share < kept.shares; ++share) {
    const KeptPlace* const places = kept.places + (Offset{q} * kept.shares + share) * kept.room;
    for (int at = group; at < counts[share]; at += kScoreGroups) {
      const Index place = places[at].place;
      const float score = exact_score(items, query, place);
      if (threadIdx.x % kGroupLanes == 0) keys[before + at] = key_of(score, items.item[place]);
    }
    before += counts[share];
  }
  __syncthreads();
  prune_keys<kScoreThreads>(best, keys, lists.k);
  for (int at = static_cast<int>(threadIdx.x); at < best.count; at += kScoreThreads) {
    const Candidate one = candidate_of(keys[at]);
    items_of[at] = one.item;
    scores_of[at] = one.score;
  }
  fill(best.count);
  if (threadIdx.x == 0) count = best.count;
}

__global__ void __launch_bounds__(kScoreThreads)
    score_kernel(const ExactItems items, const float* queries, const Index* which, float* out) {
  extern __shared__ __align__(16) unsigned char memory[];
  auto* const query = reinterpret_cast<float*>(memory);
  const auto n = static_cast<Index>(blockIdx.y);
  load_query(items, queries + Offset{which[n]} * items.pitch, query);
  __syncthreads();
  const auto group = static_cast<Index>(blockIdx.x * kScoreGroups + threadIdx.x / kGroupLanes);
  for (Index place = group; place < items.count;
       place += static_cast<Index>(gridDim.x) * kScoreGroups) {
    const float score = exact_score(items, query, place);
    if (threadIdx.x % kGroupLanes == 0) out[Offset{n} * items.count + place] = score;
  }
}

}  // namespace

void list_best(const ExactItems& items, const float* queries, Index query_count,
               const KeptPlaces& kept, const TopKLists& lists, cudaStream_t stream) {
  if (query_count == 0) return;
  const int most_keys = std::min(kMostScored, kept.room * kept.shares);  // a power of two or less
  int keys = 2;
  while (keys < most_keys) keys *= 2;
  const int shared = keys * static_cast<int>(sizeof(std::uint64_t)) +
                     static_cast<int>(items.pitch) * static_cast<int>(sizeof(float));
  allow_shared_memory(list_kernel, shared);
  list_kernel<<<static_cast<unsigned>(query_count), kScoreThreads, static_cast<std::size_t>(shared),
                stream>>>(items, queries, kept, lists, keys);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void score_all_items(const ExactItems& items, const float* queries, const Index* which, Index count,
                     float* out, cudaStream_t stream) {
  if (count == 0 || items.count == 0) return;
  const dim3 grid(
      static_cast<unsigned>(std::min<Index>(1024, (items.count + kScoreGroups - 1) / kScoreGroups)),
      static_cast<unsigned>(count));
  score_kernel<<<grid, kScoreThreads, static_cast<std::size_t>(items.pitch) * sizeof(float),
                 stream>>>(items, queries, which, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
