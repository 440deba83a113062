// SPDX-License-Identifier: Apache-2.0
#include "serving/least_squares_rows.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "algorithms/als/gram.h"
#include "algorithms/sgd/setup.h"
#include "core/linalg/row_copies.h"
#include "core/nonnegative.h"

namespace likewise {
namespace {

[[nodiscard]] CellWeights rating_weights(double value, double baseline) {
  return {1.0, value - baseline, 0.0};
}

}  // namespace

RowWeights row_weights(const AlsParams& params, Index other_side_rows) {
  const auto lambda = [params, other_side_rows](Offset count, Index unseen) {
    return row_regularization(params, count, other_side_rows + unseen);
  };
  RowWeights weights{0.0, lambda, lambda, rating_weights, {}, params.nonnegative};
  if (params.feedback == Feedback::kImplicit) {
    weights.missing = missing_weight(params);
    if (counts_likes(params)) {
      weights.counted = [params](std::span<const float> values) {
        return counted_entries(params, values);
      };
    }
    weights.cell = [params](double value, double) { return cell_weights(params, value); };
  }
  return weights;
}

RowWeights row_weights(const SgdParams& params) {
  // lambda_row = lambda count^nu
  const auto times_count = [nu = params.regularization_exponent](double lambda) {
    return [=](Offset count, Index) { return lambda * std::pow(static_cast<double>(count), nu); };
  };
  return {0.0,
          times_count(params.regularization),
          times_count(bias_lambda(params)),
          rating_weights,
          {},
          params.nonnegative};
}

LeastSquaresRows::LeastSquaresRows(const Factors& factors, RowWeights weights, Side side)
    : factors_(factors),
      weights_(std::move(weights)),
      side_(side),
      other_(factors.side(other(side))),
      width_(other_.cols() + (factors.bias(side).empty() ? 0 : 1)) {
  if (weights_.missing != 0.0) weighted_gram_ = scaled_gram(other_.view(), weights_.missing);
}

void LeastSquaresRows::leave_out(std::span<const Index> unseen) {
  unseen_.assign(unseen.begin(), unseen.end());
  if (weighted_gram_.empty() || unseen.empty()) return;
  const std::vector<double> of_unseen =
      scaled_gram(gather_rows(other_, unseen).view(), weights_.missing);
  for (std::size_t at = 0; at < weighted_gram_.size(); ++at) weighted_gram_[at] -= of_unseen[at];
}

bool LeastSquaresRows::is_unseen(Index other_row) const {
  return std::ranges::binary_search(unseen_, other_row);
}

std::vector<double> LeastSquaresRows::features(Index other_row) const {
  std::vector<double> y(static_cast<std::size_t>(width_), 1.0);
  std::copy_n(other_.row(other_row), other_.cols(), y.begin());
  return y;
}

/// What the score of a pair is before the row's own factors and bias come in.
double LeastSquaresRows::baseline(Index other_row) const {
  const Array<float>& bias = factors_.bias(other(side_));
  return double{factors_.global_mean} + (bias.empty() ? 0.0 : double{bias[other_row]});
}

CellWeights LeastSquaresRows::weights(const FoldInRow& row, std::size_t entry) const {
  const double r = row.values.empty() ? 1.0 : double{row.values[entry]};
  return weights_.cell(r, baseline(row.columns[entry]));
}

/// A, of which the upper triangle counts.
std::vector<double> LeastSquaresRows::matrix(const FoldInRow& row) const {
  const auto width = static_cast<std::size_t>(width_);
  const auto factors = static_cast<std::size_t>(other_.cols());
  const auto count = static_cast<Offset>(row.columns.size());
  const bool all = !weights_.counted || row.values.empty();
  const Offset counted = all ? count : weights_.counted(row.values);
  const auto unseen = static_cast<Index>(
      std::ranges::count_if(row.columns, [this](Index column) { return is_unseen(column); }));
  std::vector<double> a = weighted_gram_;
  a.resize(width * width, 0.0);
  for (std::size_t j = 0; j < width; ++j) {
    const auto& lambda = j < factors ? weights_.regularization : weights_.bias_regularization;
    a[j * width + j] += lambda(counted, unseen);
  }
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const double missing = is_unseen(row.columns[e]) ? weights_.missing : 0.0;
    add_outer_product(a, features(row.columns[e]), weights(row, e).w + missing);
  }
  return a;
}

std::vector<double> LeastSquaresRows::right_side(const FoldInRow& row) const {
  std::vector<double> b(static_cast<std::size_t>(width_), 0.0);
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const std::vector<double> y = features(row.columns[e]);
    const double v = weights(row, e).v;
    for (std::size_t j = 0; j < b.size(); ++j) b[j] += v * y[j];
  }
  return b;
}

std::vector<double> LeastSquaresRows::solve(const FoldInRow& row) const {
  std::vector<double> x(static_cast<std::size_t>(width_), 0.0);
  if (row.columns.empty()) return x;
  const auto count = static_cast<Offset>(row.columns.size());
  if (!weights_.nonnegative) {
    x = right_side(row);
    RowSystem(matrix(row), width_, count).solve(x);
    return x;
  }
  const std::vector<double> a = matrix(row);
  std::ranges::fill(x, 1.0);
  const Index pivot = NonnegativeSolver(width_, other_.cols()).solve(a, right_side(row), x);
  if (pivot >= 0) throw_singular_row(count, pivot);
  return x;
}

void LeastSquaresRows::leave_out_bounded(const FoldInRow& row, std::vector<double>& matrix,
                                         std::vector<double>& features) const {
  const std::vector<double> x = solve(row);
  const auto width = static_cast<std::size_t>(width_);
  for (std::size_t j = 0; j < static_cast<std::size_t>(other_.cols()); ++j) {
    if (x[j] > 0.0) continue;
    features[j] = 0.0;
    for (std::size_t i = 0; i < width; ++i) matrix[i * width + j] = matrix[j * width + i] = 0.0;
    matrix[j * width + j] = 1.0;
  }
}

Explanation LeastSquaresRows::explain(const FoldInRow& row, Index item) const {
  Explanation result;
  result.baseline = baseline(item);
  result.score = result.baseline;
  if (row.columns.empty()) return result;
  std::vector<double> a = matrix(row);
  std::vector<double> z = features(item);
  if (weights_.nonnegative) leave_out_bounded(row, a, z);
  RowSystem(std::move(a), width_, static_cast<Offset>(row.columns.size()))
      .solve(z);  // z = A^-1 y~_item
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const std::vector<double> y = features(row.columns[e]);
    // share_j = (y~_item^T A^-1 y~_j) v_j
    const double share = std::inner_product(y.begin(), y.end(), z.begin(), 0.0) * weights(row, e).v;
    const float value = row.values.empty() ? 1.0F : row.values[e];
    result.contributions.push_back({row.columns[e], value, share});
    result.score += share;
  }
  std::sort(result.contributions.begin(), result.contributions.end(),
            [](const Contribution& a, const Contribution& b) {
              return a.share != b.share ? a.share > b.share : a.item < b.item;
            });
  return result;
}

}  // namespace likewise
