// SPDX-License-Identifier: Apache-2.0
/// Exact scores on the GPU; bit-identical to those of the CPU: sums in float64 in the same order
/// (src/core/linalg/exact_dot.cpp), rounded once.
#pragma once

#include "backends/cuda/top_k/top_k_candidates.h"
#include "core/host_device.h"

namespace likewise::cuda {

/// Of candidates that are scored for one query at most.
inline constexpr int kMostScored = 8192;

struct ExactItems {
  const float* rows = nullptr;  ///< by place
  const float* bias = nullptr;  ///< by place; null: none
  const Index* item = nullptr;  ///< of a place
  Index count = 0;
  Index pitch = 0;
  bool distances = false;
};

/// Answers of queries, best first: of each k items, k scores and the count, or
/// KeptPlaces::kTooMany for what is not known.
struct TopKLists {
  static_assert(sizeof(Index) == sizeof(float));
  Index* words = nullptr;
  int k = 0;

  [[nodiscard]] LIKEWISE_HOST_DEVICE static constexpr Offset words_of(Index k) {
    return 2 * Offset{k} + 1;
  }
};

/// Scores what each query has kept, and lists the best of it. `queries` are query_count x pitch.
void list_best(const ExactItems& items, const float* queries, Index query_count,
               const KeptPlaces& kept, const TopKLists& lists, cudaStream_t stream);

/// All scores of some queries, by place: out is count x items.
void score_all_items(const ExactItems& items, const float* queries, const Index* which, Index count,
                     float* out, cudaStream_t stream);

}  // namespace likewise::cuda
