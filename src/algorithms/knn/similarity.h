// SPDX-License-Identifier: Apache-2.0
/// Rows as a similarity sees them, and how alike they are: the part that all devices share, so that
/// they agree to the bit. math.md holds the formulas, pair_formula.h their text.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "algorithms/knn/pair_formula.h"
#include "algorithms/rows_with_entries.h"
#include "likewise/csr.h"
#include "likewise/knn.h"

namespace likewise {

/// How many of the sums a formula looks at: xy; n, xx, yy and xy; all six.
enum class SumsNeeded { kProducts, kSquares, kAll };

/// A formula with the table that it may need, which is why it moves and is not copied.
struct PairFormula : PairNumbers {
  SumsNeeded sums = SumsNeeded::kProducts;
  double damping = 0.0;            ///< for kConditional and kRp3
  std::vector<double> logarithms;  ///< what x_log_x points to

  PairFormula() = default;
  PairFormula(PairFormula&&) = default;
  PairFormula& operator=(PairFormula&&) = default;

  /// Weights are all 1, and xy is the number of common entries.
  [[nodiscard]] bool of_counts() const {
    return form == PairForm::kJaccard || form == PairForm::kLogLikelihood ||
           form == PairForm::kConditional;
  }
  [[nodiscard]] bool symmetric() const {
    return form != PairForm::kConditional && form != PairForm::kRp3;
  }
  /// Similarities are sums of products, over something that is positive.
  [[nodiscard]] bool multiplies() const {
    return form == PairForm::kDot || form == PairForm::kCosine || form == PairForm::kCommonCosine;
  }
  /// Sums run over the columns that two rows have in common, else over all.
  [[nodiscard]] bool of_common() const {
    return form == PairForm::kCommonCosine || form == PairForm::kPearson || form == PairForm::kMsd;
  }

  /// How similar y is to x; 0 where they are no neighbours.
  [[nodiscard]] float similarity(const RowStats& x, const RowStats& y, const PairSums& s) const {
    struct Row {
      const RowStats& stats;
      [[nodiscard]] double norm() const { return stats.norm; }
      [[nodiscard]] double count() const { return stats.count; }
      [[nodiscard]] double damped_count() const { return stats.damped_count; }
      [[nodiscard]] double noise() const { return stats.noise; }
    };
    return pair_similarity(*this, x, Row{y}, s);
  }
};

/// Rows to be compared: weights and statistics. Weights are float32, products of two are exact in
/// double.
struct WeightedRows {
  CsrView weights;
  std::span<const RowStats> stats;
};

/// Everything a search looks at. The weights stand over the caller's matrix where they equal its
/// values.
class SimilarityProblem {
 public:
  /// `by_user` and `baselines` must outlive it.
  SimilarityProblem(const CsrView& by_user, const KnnParams& params, const Biases& biases);

  [[nodiscard]] const PairFormula& formula() const { return formula_; }
  [[nodiscard]] WeightedRows rows() const { return {weights_, stats_}; }

  /// Weights of a row, of these or an outside one, from its values beside its columns, and their
  /// statistics. `bias` is the row's own; means and lengths that a weight needs are taken from the
  /// values.
  RowStats weigh(double bias, std::span<const Index> columns, std::span<const float> values,
                 std::span<float> weights) const;

 private:
  /// Means, idf and lengths: whatever the weights of this similarity need.
  void gather_statistics(const CsrView& rows);
  void weigh_all();
  /// weigh() with the mean of the values, each of which is off by so large a share of it. Returns
  /// how far rounding may have moved the weights.
  double weigh_about(double mean, double bias, double value_error, std::span<const Index> columns,
                     std::span<const float> values, std::span<float> weights) const;
  /// What is needed to say how far that is.
  void gather_errors(const CsrView& rows);
  [[nodiscard]] double row_error(double bias, double value_error,
                                 std::span<const float> values) const;
  [[nodiscard]] double noise_of_values(double value_error, std::span<const float> values) const;
  [[nodiscard]] double noise_of(double squares, double largest) const;
  [[nodiscard]] RowStats stats_of(double squares, double count, double noise) const;
  /// Whether weights are distances from their row's mean.
  [[nodiscard]] bool centres_rows() const;

  KnnParams params_;
  const Biases& biases_;
  RowsWithEntries present_;  ///< which are counted
  PairFormula formula_;
  std::vector<double> column_weight_;  ///< idf, the mean of a column, or that of kRp3
  double mean_length_ = 0.0;           ///< BM25: mean sum of a row
  double value_error_ = 0.0;           ///< of a value, as a share of it: what float32 took off
  std::vector<double> column_error_;   ///< of what a weight takes off for its column
  CsrMatrix owned_;                    ///< the transpose, or the weights
  CsrView weights_;
  std::vector<RowStats> stats_;
};

}  // namespace likewise
