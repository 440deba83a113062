// SPDX-License-Identifier: Apache-2.0
/// What one observed value r contributes to a row's least-squares problem. Shared by training,
/// fold-in and explanations, so that all three solve the same problem.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>

#include "algorithms/als/cell_weights.h"
#include "likewise/als.h"
#include "likewise/types.h"

namespace likewise {

/// With s = x . y the score of a cell, the implicit objective without regularisation is
///
///     w0 sum over ALL cells of s^2  +  sum over observed cells of (w s^2 - 2 v s + constant)
///
/// so that a row's normal equations are  A = w0 G + lambda_row I + sum w y y^T,  b = sum v y. With
/// confidence given w may be as low as -1: G holds every y y^T with weight 1, so that A is a sum of
/// squares all the same.
struct CellWeights {
  double w = 0.0;
  double v = 0.0;
  double constant = 0.0;
};

/// w0: what a cell without an entry weighs.
[[nodiscard]] inline double missing_weight(const AlsParams& params) {
  return params.unobserved_weight.value_or(1.0);
}

[[nodiscard]] inline CellForm cell_form(const AlsParams& params) {
  if (params.feedback == Feedback::kExplicit) return CellForm::kExplicit;
  if (params.unobserved_weight) return CellForm::kUnobserved;
  switch (params.confidence) {
    case Confidence::kLog:
      return CellForm::kLog;
    case Confidence::kGiven:
      return CellForm::kGiven;
    case Confidence::kLinear:
      break;
  }
  return CellForm::kLinear;
}
[[nodiscard]] inline CellRule<double> cell_rule(const AlsParams& params) {
  return {cell_form(params), params.alpha, params.epsilon};
}

/// Of implicit feedback without unobserved_weight:
/// c = 1 + alpha |r|,  1 + alpha log(1 + |r| / epsilon)  or  alpha |r|.
[[nodiscard]] inline double confidence(const AlsParams& params, double r) {
  const CellRule<double> rule = cell_rule(params);
  if (rule.form == CellForm::kGiven) return given_confidence(rule, std::abs(r));
  return 1.0 + observed_weight(rule, std::abs(r));
}

/// Implicit feedback. Hu: c (p - s)^2 = s^2 + (c - 1) s^2 - 2 c p s + c p with p = [r > 0].
/// iALS (unobserved_weight): (1 - s)^2 for a like, s^2 for a dislike, nothing for r = 0.
[[nodiscard]] inline CellWeights cell_weights(const AlsParams& params, double r) {
  const CellRule<double> rule = cell_rule(params);
  const double w = observed_weight(rule, std::abs(r));
  if (rule.form == CellForm::kGiven) {
    const double c = r > 0.0 ? given_confidence(rule, r) : 0.0;
    return {w, c, c};
  }
  const double v = r > 0.0 ? like_target(double{like_slope(rule.form)}, w) : 0.0;
  // Hu's w is what double precision leaves of c - 1.
  return {rule.form == CellForm::kUnobserved ? w : 1.0 + w - 1.0, v, v};
}

/// Unknowns of a row: the factors, and the bias where the model has them.
[[nodiscard]] inline Index als_width(const AlsParams& params) {
  return params.factors + (params.feedback == Feedback::kExplicit && params.biases ? 1 : 0);
}

[[nodiscard]] inline bool counts_likes(const AlsParams& params) {
  return params.feedback == Feedback::kImplicit &&
         params.regularization_count == RegularizationCount::kLikes;
}

/// What of a row with these values row_regularization() counts: its entries; or its likes, where
/// one stands for none: without likes the row's factors are zero, and its lambda must not be.
[[nodiscard]] inline Offset counted_entries(const AlsParams& params,
                                            std::span<const float> values) {
  if (!counts_likes(params)) return std::ssize(values);
  const auto likes =
      static_cast<Offset>(std::ranges::count_if(values, [](float r) { return r > 0.0F; }));
  return std::max<Offset>(1, likes);
}

/// lambda_row = lambda (count + w0 * rows of the other side)^nu for implicit feedback,
/// lambda count^nu for explicit and where likes are counted; `count` is that of counted_entries().
[[nodiscard]] inline double row_regularization(const AlsParams& params, Offset count,
                                               Index other_side_rows) {
  const double missing = params.feedback == Feedback::kImplicit && !counts_likes(params)
                             ? missing_weight(params) * static_cast<double>(other_side_rows)
                             : 0.0;
  return params.regularization *
         std::pow(static_cast<double>(count) + missing, params.regularization_exponent);
}

}  // namespace likewise
