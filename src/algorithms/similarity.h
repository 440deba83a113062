// SPDX-License-Identifier: Apache-2.0
/// What two rows have in common, and the similarity it makes: the part that all backends share, so
/// that they agree to the bit. docs/math.md holds the formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/neighbourhood.h"

namespace likewise {

/// Sums over the columns that rows x and y have in common, of their weights a (of x) and b (of y).
/// In double precision, columns rising.
struct PairSums {
  double n = 0.0;   ///< how many
  double x = 0.0;   ///< a
  double y = 0.0;   ///< b
  double xx = 0.0;  ///< a^2
  double yy = 0.0;  ///< b^2
  double xy = 0.0;  ///< a b
};

/// How many of the sums a formula looks at: xy; n, xx, yy and xy; all six.
enum class SumsNeeded { kProducts, kSquares, kAll };

/// What a formula wants to know of a row alone.
struct RowFacts {
  double norm = 0.0;   ///< square root of the sum of squared weights
  double count = 0.0;  ///< entries
};

enum class PairForm {
  kDot,
  kCosine,
  kCommonCosine,  ///< norms over the common entries
  kPearson,
  kMsd,
  kJaccard,
  kLogLikelihood,
  kConditional,
};

/// From sums to a similarity.
struct PairFormula {
  PairForm form = PairForm::kDot;
  SumsNeeded sums = SumsNeeded::kProducts;
  double min_support = 1.0;
  double shrinkage = 0.0;
  double lost_degrees = 0.0;  ///< of freedom: 1 for Pearson about baselines
  double amplification = 1.0;
  double damping = 0.0;
  bool keep_negative = false;
  double columns = 0.0;
  std::vector<double> x_log_x;  ///< k log k for k in [0, columns], for kLogLikelihood

  /// Weights are all 1, and xy is the number of common entries.
  [[nodiscard]] bool of_counts() const {
    return form == PairForm::kJaccard || form == PairForm::kLogLikelihood ||
           form == PairForm::kConditional;
  }
  [[nodiscard]] bool symmetric() const { return form != PairForm::kConditional; }

  /// How similar y is to x; 0 where they are no neighbours.
  [[nodiscard]] float similarity(const RowFacts& x, const RowFacts& y, const PairSums& s) const;

 private:
  [[nodiscard]] double plain(const RowFacts& x, const RowFacts& y, const PairSums& s) const;
  [[nodiscard]] double log_likelihood(double common, double x_count, double y_count) const;
};

/// Rows to be compared: weights and facts. Weights are float32, products of two are exact in
/// double.
struct WeightedRows {
  CsrView weights;
  std::span<const RowFacts> facts;
};

/// Everything a search looks at. The weights stand over the caller's matrix where they equal its
/// values.
class SimilarityProblem {
 public:
  /// `by_user` and `baselines` must outlive it.
  SimilarityProblem(const CsrView& by_user, const NeighbourParams& params,
                    const Factors& baselines);

  [[nodiscard]] const PairFormula& formula() const { return formula_; }
  [[nodiscard]] WeightedRows rows() const { return {weights_, facts_}; }

  /// Weights of a row, of these or an outside one, from its values beside its columns. `bias` is
  /// the row's own; means and lengths that a weight needs are taken from the values.
  void weigh(double bias, std::span<const Index> columns, std::span<const float> values,
             std::span<float> weights) const;
  [[nodiscard]] static RowFacts facts_of(std::span<const float> weights);

 private:
  /// Means, idf and lengths: whatever the weights of this similarity need.
  void gather_statistics(const CsrView& rows);
  void weigh_all();

  NeighbourParams params_;
  const Factors& baselines_;
  PairFormula formula_;
  std::vector<double> column_weight_;  ///< idf, or the mean of a column
  double mean_length_ = 0.0;           ///< BM25: mean sum of a row
  CsrMatrix owned_;                    ///< the transpose, or the weights
  CsrView weights_;
  std::vector<RowFacts> facts_;
};

}  // namespace likewise
