// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "algorithms/knn/knn_prediction.h"
#include "backends/cpu/kernels/knn_walk.h"

namespace likewise {

/// Predictions of one row for many columns: what KnnRatings::predict() gives for each, to the
/// bit. The other rows are sorted once, then walked best first; each gives its ratings to the
/// columns that have fewer than K yet, which share words and blocks (PlacedRows).
class KnnWalk {
 public:
  /// `ratings` must outlive it.
  explicit KnnWalk(const KnnRatings& ratings);

  /// out[i] for columns[i]; `x`, `own` and `similarities` as for predict().
  void predict(const RowLevel& x, Index own, const float* similarities,
               std::span<const Index> columns, float* out) const;

  /// Whether it takes less time than predict() for each of these columns.
  [[nodiscard]] static bool pays(const KnnRatings& ratings, std::span<const Index> columns);

 private:
  void cut_into_words(const CsrView& rows);

  const KnnRatings& ratings_;
  std::vector<Index> places_;  ///< of the columns
  Index block_words_ = 0;
  Index blocks_ = 0;
  std::vector<kernels::WalkStart> starts_;
  std::vector<std::uint32_t> words_;
  std::vector<std::uint64_t> masks_;
  Array<float> deviations_;
};

}  // namespace likewise
