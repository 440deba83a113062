// SPDX-License-Identifier: Apache-2.0
/// What two rows have in common, and the similarity it makes: the part that all backends share, so
/// that they agree to the bit. docs/math.md holds the formulas.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "likewise/csr.h"
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

/// What is left of independent rows by rounding is this share of N log N, at most: nine numbers
/// k log k, none above it, each rounded twice and added up in eight additions (2^-53 each), twice.
inline constexpr double kLogLikelihoodRounding = 1e-14;

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
  /// n^2 times the variance; what is left of equal values by rounding counts as 0.
  [[nodiscard]] static double variance(double n, double sum, double squares) {
    const double value = n * squares - sum * sum;
    return value > 1e-12 * n * squares ? value : 0.0;
  }
  /// n^2 times the covariance; what is left of independent values by rounding counts as 0.
  [[nodiscard]] static double covariance(const PairSums& s) {
    const double value = s.n * s.xy - s.x * s.y;
    return value * value > 1e-24 * (s.n * s.xx) * (s.n * s.yy) ? value : 0.0;
  }
  [[nodiscard]] double log_likelihood(double common, double x_count, double y_count) const;
};

inline float PairFormula::similarity(const RowFacts& x, const RowFacts& y,
                                     const PairSums& s) const {
  const double common = of_counts() || sums == SumsNeeded::kProducts ? s.xy : s.n;
  const bool counts = of_counts() || sums != SumsNeeded::kProducts;
  if (counts && common < min_support) return 0.0F;
  double value = plain(x, y, s);
  if (shrinkage > 0.0) {
    const double free = common - lost_degrees;
    value *= free / (free + shrinkage);
  }
  if (amplification != 1.0) value = std::copysign(std::pow(std::abs(value), amplification), value);
  return value > 0.0 || keep_negative ? static_cast<float>(value) : 0.0F;
}

inline double PairFormula::plain(const RowFacts& x, const RowFacts& y, const PairSums& s) const {
  switch (form) {
    case PairForm::kDot:
      return s.xy;
    case PairForm::kCosine: {
      const double norms = x.norm * y.norm;
      return norms > 0.0 ? s.xy / norms : 0.0;
    }
    case PairForm::kCommonCosine: {
      const double norms = std::sqrt(s.xx * s.yy);
      return norms > 0.0 ? s.xy / norms : 0.0;
    }
    case PairForm::kPearson: {
      const double spread = variance(s.n, s.x, s.xx) * variance(s.n, s.y, s.yy);
      return spread > 0.0 ? covariance(s) / std::sqrt(spread) : 0.0;
    }
    case PairForm::kMsd:
      return s.n > 0.0 ? 1.0 / (std::max(0.0, s.xx + s.yy - 2.0 * s.xy) / s.n + 1.0) : 0.0;
    case PairForm::kJaccard: {
      const double either = x.count + y.count - s.xy;
      return either > 0.0 ? s.xy / either : 0.0;
    }
    case PairForm::kLogLikelihood:
      return s.xy > 0.0 ? log_likelihood(s.xy, x.count, y.count) : 0.0;
    case PairForm::kConditional:
      return s.xy > 0.0 ? s.xy / (x.count * std::pow(y.count, damping)) : 0.0;
  }
  return 0.0;
}

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
                    const Baselines& baselines);

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
  /// weigh() with the mean of the values.
  void weigh_about(double mean, double bias, std::span<const Index> columns,
                   std::span<const float> values, std::span<float> weights) const;
  /// Whether weights are distances from their row's mean.
  [[nodiscard]] bool centres_rows() const;

  NeighbourParams params_;
  const Baselines& baselines_;
  PairFormula formula_;
  std::vector<double> column_weight_;  ///< idf, or the mean of a column
  double mean_length_ = 0.0;           ///< BM25: mean sum of a row
  CsrMatrix owned_;                    ///< the transpose, or the weights
  CsrView weights_;
  std::vector<RowFacts> facts_;
};

}  // namespace likewise
