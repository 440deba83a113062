// SPDX-License-Identifier: Apache-2.0
/// Ratings from neighbours. With x the row that is asked about (a user of user-knn, an item of
/// item-knn) and c the column, over the rows v that have c and may be asked (PredictFrom):
///
///     mean      sum s r_vc / sum |s|
///     centred   mean_x + sum s (r_vc - mean_v) / sum |s|
///     z-score   mean_x + sigma_x sum s (r_vc - mean_v) / sigma_v / sum |s|
///     baseline  b_xc + sum s (r_vc - b_vc) / sum |s|
///
/// and with too few neighbours what stands before the sums; the mean of all values where nothing
/// does. Sums run from the most to the least similar row, ties to the smaller one, in double
/// precision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/knn/rating_formula.h"
#include "likewise/csr.h"
#include "likewise/knn.h"

namespace likewise {

class KnnRatings {
 public:
  /// `by_user` and `baselines` must outlive it.
  KnnRatings(const CsrView& by_user, const KnnParams& params, const Biases& biases);

  [[nodiscard]] const RowLevel& level(Index row) const {
    return levels_[static_cast<std::size_t>(row)];
  }
  [[nodiscard]] RowLevel level_of(std::span<const Index> columns,
                                  std::span<const float> values) const;
  /// Bias of a column with these entries, of which the model may know nothing.
  [[nodiscard]] double column_bias_of(std::span<const Index> rows,
                                      std::span<const float> values) const;
  [[nodiscard]] double column_bias(Index column) const;

  /// Who has a column, and by how much they are off their level: what the sums add up.
  struct Raters {
    std::span<const Index> rows;
    std::span<const float> deviations;
    double column_bias = 0.0;
  };
  [[nodiscard]] Raters raters(Index column) const;
  [[nodiscard]] std::vector<float> deviations_of(std::span<const Index> rows,
                                                 std::span<const float> values,
                                                 double column_bias) const;

  /// `similarities` of x, one per row, 0 for those that may not be asked; `own` (or -1) is x
  /// itself, which is not asked.
  [[nodiscard]] float predict(const RowLevel& x, Index own, const Raters& raters,
                              const float* similarities) const;

  /// The entries of raters(), for all columns.
  [[nodiscard]] CsrView by_column() const { return by_column_.view(); }
  /// The formula that makes a rating of sums.
  [[nodiscard]] const RatingNumbers& numbers() const { return numbers_; }
  [[nodiscard]] float rating(const RowLevel& x, const Raters& raters, const RatingSums& sums) const;
  /// Rises from the most to the least similar, then with the number.
  [[nodiscard]] static std::uint64_t key_of(float similarity, std::uint32_t number);

  /// What a prediction is made of, before it is clipped.
  struct Parts {
    double level = 0.0;          ///< what stands before the sums, or for all
    std::vector<double> shares;  ///< of the raters, in their order; level + shares = prediction
  };
  [[nodiscard]] Parts parts(const RowLevel& x, Index own, const Raters& raters,
                            const float* similarities) const;

  /// What is left without a row (x) or a column: -1 stands for "unknown".
  [[nodiscard]] float fallback(Index row, Index column) const;

 private:
  /// Keys of the raters that a prediction asks, best first; none where they are too few. Lasts
  /// until the next call on this thread.
  [[nodiscard]] std::span<const std::uint64_t> nearest(Index own, const Raters& raters,
                                                       const float* similarities) const;
  [[nodiscard]] float deviation(Index row, float value, double column_bias) const;

  const KnnParams params_;
  const Biases& biases_;
  RatingNumbers numbers_;
  double sigma_ = 0.0;
  std::vector<RowLevel> levels_;
  CsrMatrix by_column_;  ///< values: deviations
};

}  // namespace likewise
