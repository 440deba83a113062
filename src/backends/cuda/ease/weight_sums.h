// SPDX-License-Identifier: Apache-2.0
/// Scores and lists of histories by dense weights B on a GPU.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>

#include "backends/cuda/top_k/top_k_scores.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// Histories, the longest first, and B.
struct WeightSums {
  const float* weights = nullptr;  ///< B: items x pitch, zeros beyond the items
  Index items = 0;
  Index pitch = 0;  ///< a multiple of 16

  Index rows = 0;                      ///< histories
  const Index* order = nullptr;        ///< of them, that with the most entries first
  const Offset* offsets = nullptr;     ///< of their entries, less offsets[0]
  const Index* entry_items = nullptr;  ///< of entries, within the items
  const float* values = nullptr;

  /// Null, or a byte per item: 0 removes it.
  const std::uint8_t* allowed = nullptr;
  /// Null, or where the items that are removed for each history begin, less excluded_offsets[0].
  const Offset* excluded_offsets = nullptr;
  const Index* excluded = nullptr;
};

/// What is no answer: removed, or beyond the items. No score that is a number is so small.
inline constexpr float kNoScore = -__builtin_huge_valf();

/// scores (rows x pitch): sums of x_i B_ij over the entries of a history x in their order, in
/// float64 and rounded once; kNoScore for what is no answer. infinite[row] (zeros before) becomes 1
/// where a score is not a finite number.
void sum_weights(const WeightSums& sums, float* scores, int* infinite, cudaStream_t stream);

/// The best of them; the count of a row that has a score which is not finite is
/// KeptPlaces::kTooMany. 1 <= lists.k <= kMostGpuListed.
void list_scores(const WeightSums& sums, const float* scores, const int* infinite,
                 const TopKLists& lists, cudaStream_t stream);

}  // namespace likewise::cuda
