// SPDX-License-Identifier: Apache-2.0
#include "serving/fold_in.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/gram.h"
#include "algorithms/weights.h"
#include "core/cholesky.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

}  // namespace

RowSystem::RowSystem(std::vector<double> matrix, Index width, Offset count)
    : upper_(std::move(matrix)), width_(width) {
  const Index k = cholesky_factor(upper_.data(), width);
  if (k < 0) return;
  throw Error(ErrorKind::kNumerical,
              fmt::format("the system of a row with {} entries is singular (pivot {} is {}): "
                          "train with more regularization",
                          count, k, upper_[static_cast<std::size_t>(Offset{k} * (width + 1))]));
}

void RowSystem::solve(std::vector<double>& b) const {
  cholesky_solve(upper_.data(), width_, b.data());
}

FoldInSolver::FoldInSolver(const Factors& factors, const AlsParams& params, Side side)
    : factors_(factors),
      params_(params),
      side_(side),
      other_(factors.side(other(side))),
      width_(other_.cols()) {
  if (params.feedback == Feedback::kExplicit) {
    if (!factors.bias(side).empty()) ++width_;
  } else {
    weighted_gram_ = scaled_gram(other_.view(), missing_weight(params));
  }
}

void check_fold_in_row(const FoldInRow& row, Index columns, const char* what) {
  if (!row.values.empty() && row.values.size() != row.columns.size()) {
    refuse(fmt::format("{} values for {} {}s", row.values.size(), row.columns.size(), what));
  }
  for (const Index column : row.columns) {
    if (column < 0 || column >= columns) {
      refuse(fmt::format("{} {} is outside [0, {})", what, column, columns));
    }
  }
  for (const float value : row.values) {
    if (!(std::abs(value) <= kLargestNumber)) {
      refuse(fmt::format("the value {} is not a number of at most {:g} in size", value,
                         kLargestNumber));
    }
  }
  std::vector<Index> sorted = row.columns;
  std::sort(sorted.begin(), sorted.end());
  const auto twice = std::adjacent_find(sorted.begin(), sorted.end());
  if (twice != sorted.end()) refuse(fmt::format("{} {} appears twice", what, *twice));
}

std::vector<double> FoldInSolver::features(Index other_row) const {
  std::vector<double> y(static_cast<std::size_t>(width_), 1.0);
  std::copy_n(other_.row(other_row), other_.cols(), y.begin());
  return y;
}

/// What the score of a pair is before the row's own factors and bias come in.
double FoldInSolver::baseline(Index other_row) const {
  const Array<float>& bias = factors_.bias(other(side_));
  return double{factors_.global_mean} + (bias.empty() ? 0.0 : double{bias[other_row]});
}

FoldInSolver::Weights FoldInSolver::weights(const FoldInRow& row, std::size_t entry) const {
  const double r = row.values.empty() ? 1.0 : double{row.values[entry]};
  if (params_.feedback == Feedback::kExplicit) return {1.0, r - baseline(row.columns[entry])};
  const CellWeights cell = cell_weights(params_, r);
  return {cell.w, cell.v};
}

RowSystem FoldInSolver::system(const FoldInRow& row) const {
  const auto width = static_cast<std::size_t>(width_);
  const auto count = static_cast<Offset>(row.columns.size());
  std::vector<double> a = weighted_gram_;
  a.resize(width * width, 0.0);
  const double lambda = row_regularization(params_, count, other_.rows());
  for (std::size_t j = 0; j < width; ++j) a[j * width + j] += lambda;
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    add_outer_product(a, features(row.columns[e]), weights(row, e).w);
  }
  return {std::move(a), width_, count};
}

std::vector<double> FoldInSolver::solve(const FoldInRow& row) const {
  std::vector<double> x(static_cast<std::size_t>(width_), 0.0);
  if (row.columns.empty()) return x;
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const std::vector<double> y = features(row.columns[e]);
    const double v = weights(row, e).v;
    for (std::size_t j = 0; j < x.size(); ++j) x[j] += v * y[j];
  }
  system(row).solve(x);
  return x;
}

}  // namespace likewise
