// SPDX-License-Identifier: Apache-2.0
#include "serving/logistic_rows.h"

#include <cmath>

#include "algorithms/sgd/setup.h"
#include "likewise/error.h"
#include "serving/logistic_problem.h"

namespace likewise {

LogisticRows::LogisticRows(const Factors& factors, const SgdParams& params, Side side)
    : factors_(factors),
      params_(params),
      side_(side),
      other_(factors.side(other(side))),
      width_(other_.cols() + (factors.bias(side).empty() ? 0 : 1)) {}

std::vector<double> LogisticRows::solve(const FoldInRow& row) const {
  const auto width = static_cast<std::size_t>(width_);
  const auto cols = static_cast<std::size_t>(other_.cols());
  if (row.columns.empty()) return std::vector<double>(width, 0.0);
  LogisticProblem problem;
  problem.width = width_;
  problem.count = static_cast<Offset>(row.columns.size());
  const Array<float>& bias = factors_.bias(other(side_));
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const Index column = row.columns[e];
    const std::span<const float> y = other_.row_span(column);
    problem.features.insert(problem.features.end(), y.begin(), y.end());
    if (width > cols) problem.features.push_back(1.0);
    problem.offsets.push_back(double{factors_.global_mean} +
                              (bias.empty() ? 0.0 : double{bias[column]}));
    const auto own = static_cast<Index>(e);
    const bool liked = row.values.empty() || row.values[e] > 0.0F;
    problem.terms.push_back(liked ? LogisticProblem::Term{own, LogisticProblem::kNone}
                                  : LogisticProblem::Term{LogisticProblem::kNone, own});
  }
  const double size = std::pow(static_cast<double>(problem.count), params_.regularization_exponent);
  problem.ridge.assign(width, params_.regularization * size);
  if (width > cols) problem.ridge.back() = bias_lambda(params_) * size;
  return problem.minimum();
}

Explanation LogisticRows::explain(const FoldInRow&, Index) const {
  throw Error(
      ErrorKind::kInvalidArgument,
      "with the logistic loss a score is no sum over what a user did, so there is nothing "
      "to explain it with: train als, item-knn, ease, spectral, or sgd with the squared loss");
}

}  // namespace likewise
