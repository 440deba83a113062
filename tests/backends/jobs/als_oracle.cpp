// SPDX-License-Identifier: Apache-2.0
#include "tests/backends/jobs/als_oracle.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/als/weights.h"
#include "likewise/device.h"

namespace likewise::test {
namespace {

using Row = std::vector<double>;

[[nodiscard]] bool is_implicit(const AlsParams& params) {
  return params.feedback == Feedback::kImplicit;
}

[[nodiscard]] double bias_of(const Factors& f, Side side, Index row) {
  return f.bias(side).empty() ? 0.0 : f.bias(side)[row];
}

/// x_u . y_i
[[nodiscard]] double interaction(const Factors& f, Index u, Index i) {
  double s = 0.0;
  for (Index j = 0; j < f.users.cols(); ++j) s += double{f.users.row(u)[j]} * f.items.row(i)[j];
  return s;
}

[[nodiscard]] double regularization(const Factors& f, const CsrView& rows, Side side,
                                    const AlsParams& params) {
  double sum = 0.0;
  for (Index r = 0; r < rows.rows; ++r) {
    double square = std::pow(bias_of(f, side, r), 2);
    for (const float x : f.side(side).row_span(r)) square += double{x} * x;
    sum +=
        row_regularization(params, counted_entries(params, rows.row_values(r)), rows.cols) * square;
  }
  return sum;
}

/// A row's unknowns, or what multiplies them: the factors, and behind them the bias or a 1.
[[nodiscard]] Row unknowns(const Factors& f, Side side, Index row, bool feature) {
  const auto factors = f.side(side).row_span(row);
  Row all(factors.begin(), factors.end());
  if (!f.bias(side).empty()) all.push_back(feature ? 1.0 : f.bias(side)[row]);
  return all;
}

[[nodiscard]] double dot(const Row& a, const Row& b) {
  double sum = 0.0;
  for (std::size_t j = 0; j < a.size(); ++j) sum += a[j] * b[j];
  return sum;
}

void add(Row& to, double weight, const Row& from) {
  for (std::size_t j = 0; j < to.size(); ++j) to[j] += weight * from[j];
}

[[nodiscard]] double length(const Row& a) { return std::sqrt(dot(a, a)); }

/// w0 sum over the fixed side of y (y . x)
[[nodiscard]] Row missing_part(const Factors& f, Side fixed, const Row& x,
                               const AlsParams& params) {
  Row sum(x.size(), 0.0);
  if (!is_implicit(params)) return sum;
  for (Index r = 0; r < f.side(fixed).rows(); ++r) {
    const Row y = unknowns(f, fixed, r, true);
    add(sum, missing_weight(params) * dot(x, y), y);
  }
  return sum;
}

/// w and v of a cell; an explicit rating's target is what mean and the fixed side's bias leave.
[[nodiscard]] CellWeights cell(const Factors& f, Side fixed, Index column, double value,
                               const AlsParams& params) {
  if (is_implicit(params)) return cell_weights(params, value);
  return {1.0, value - f.global_mean - bias_of(f, fixed, column), 0.0};
}

/// Half the gradient of one row, over the sum of the lengths of its terms. Of a nonnegative factor
/// that is 0 what would have it fall does not count.
[[nodiscard]] double row_gradient(const CsrView& rows, const Factors& f, Side side, Index row,
                                  const AlsParams& params) {
  const Row x = unknowns(f, side, row, false);
  Row quadratic(x.size(), 0.0);  // sum w y (y . x)
  Row linear(x.size(), 0.0);     // sum v y
  for (std::size_t e = 0; e < rows.row_columns(row).size(); ++e) {
    const Index column = rows.row_columns(row)[e];
    const Row y = unknowns(f, other(side), column, true);
    const CellWeights weight = cell(f, other(side), column, rows.row_values(row)[e], params);
    add(quadratic, weight.w * dot(x, y), y);
    add(linear, weight.v, y);
  }
  const Row missing = missing_part(f, other(side), x, params);
  const double lambda =
      row_regularization(params, counted_entries(params, rows.row_values(row)), rows.cols);
  Row gradient = quadratic;
  add(gradient, 1.0, missing);
  add(gradient, lambda, x);
  add(gradient, -1.0, linear);
  for (std::size_t j = 0; params.nonnegative && j < static_cast<std::size_t>(params.factors); ++j) {
    if (x[j] < 0.0) return std::numeric_limits<double>::infinity();
    if (x[j] == 0.0) gradient[j] = std::min(gradient[j], 0.0);
  }
  const double size = length(quadratic) + length(linear) + length(missing) + lambda * length(x);
  return size == 0.0 ? 0.0 : length(gradient) / size;
}

[[nodiscard]] bool same_numbers(const float* a, const float* b, Offset count) {
  return std::equal(a, a + count, b);
}

}  // namespace

double reference_work(const CsrView& by_user, Side side, const AlsParams& params) {
  const double f = params.factors + 1;
  const double rows = side == Side::kUsers ? by_user.rows : by_user.cols;
  const double objective = 2.0 * by_user.rows * by_user.cols * f;
  return rows * f * f * f / 3.0 + static_cast<double>(by_user.nnz()) * f * f + objective;
}

Factors first_factors(const CsrView& by_user, const AlsParams& params) {
  AlsParams none = params;
  none.iterations = 0;
  none.precision = Precision::kAuto;
  return train_als(by_user, none, open_device("reference")).factors;
}

Factors trained_factors(const CsrView& by_user, const AlsParams& params) {
  constexpr double kCheap = 1e8;
  if (reference_work(by_user, Side::kUsers, params) +
          reference_work(by_user, Side::kItems, params) >
      kCheap) {
    return first_factors(by_user, params);
  }
  AlsParams one = params;
  one.iterations = 1;
  return train_als(by_user, one, open_device("reference")).factors;
}

double als_objective(const CsrView& m, const Factors& f, const AlsParams& params) {
  double sum = 0.0;
  for (Index u = 0; u < m.rows; ++u) {
    for (std::size_t e = 0; e < m.row_columns(u).size(); ++e) {
      const Index i = m.row_columns(u)[e];
      const double r = m.row_values(u)[e];
      const double s = interaction(f, u, i);
      if (is_implicit(params)) {
        const CellWeights weight = cell_weights(params, r);
        sum += weight.w * s * s - 2 * weight.v * s + weight.constant;
      } else {
        const double bias = bias_of(f, Side::kUsers, u) + bias_of(f, Side::kItems, i);
        sum += std::pow(r - f.global_mean - bias - s, 2);
      }
    }
    for (Index i = 0; i < m.cols && is_implicit(params); ++i) {
      sum += missing_weight(params) * std::pow(interaction(f, u, i), 2);
    }
  }
  return sum + regularization(f, m, Side::kUsers, params) +
         regularization(f, transpose(m).view(), Side::kItems, params);
}

double als_objective_of_nothing(const CsrView& by_user, const Factors& factors,
                                const AlsParams& params) {
  const Factors nothing{Matrix(factors.users.rows(), factors.users.cols()),
                        Matrix(factors.items.rows(), factors.items.cols()),
                        Array<float>(factors.user_bias.size()),
                        Array<float>(factors.item_bias.size()), factors.global_mean};
  return als_objective(by_user, nothing, params);
}

double worst_gradient(const CsrView& by_user, const Factors& factors, Side side,
                      const AlsParams& params) {
  const CsrMatrix by_item = transpose(by_user);
  const CsrView rows = side == Side::kUsers ? by_user : by_item.view();
  double worst = 0.0;
  for (Index r = 0; r < rows.rows; ++r) {
    if (rows.row_size(r) == 0) continue;
    const double gradient = row_gradient(rows, factors, side, r, params);
    worst = std::isnan(gradient) ? gradient : std::max(worst, gradient);
    if (std::isnan(worst)) break;
  }
  return worst;
}

double relative_difference(const Factors& a, const Factors& b, Side side) {
  double difference = 0.0;
  double size = 1e-6;  // where all is zero, numbers up to 1e-3 are of no importance
  for (Index r = 0; r < b.side(side).rows(); ++r) {
    const Row got = unknowns(a, side, r, false);
    Row rest = unknowns(b, side, r, false);
    size += dot(rest, rest);
    add(rest, -1.0, got);
    difference += dot(rest, rest);
  }
  return std::sqrt(difference / size);
}

bool same_factors(const Factors& a, const Factors& b) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const Matrix& x = a.side(side);
    const Matrix& y = b.side(side);
    const bool same = x.rows() == y.rows() && x.cols() == y.cols() &&
                      a.bias(side).size() == b.bias(side).size() &&
                      same_numbers(x.data(), y.data(), Offset{x.rows()} * x.stride()) &&
                      same_numbers(a.bias(side).data(), b.bias(side).data(), a.bias(side).size());
    if (!same) return false;
  }
  return true;
}

void expect_zero_where_empty(const CsrView& by_user, const Factors& factors, Side side) {
  const CsrMatrix by_item = transpose(by_user);
  const CsrView rows = side == Side::kUsers ? by_user : by_item.view();
  const Matrix& x = factors.side(side);
  for (Index r = 0; r < rows.rows; ++r) {
    const Index first = rows.row_size(r) == 0 ? 0 : x.cols();
    EXPECT_TRUE(std::all_of(x.row(r) + first, x.row(r) + x.stride(),
                            [](float number) { return number == 0.0F; }))
        << side_name(side) << " row " << r << ", from number " << first << " on";
    EXPECT_TRUE(first != 0 || bias_of(factors, side, r) == 0.0)
        << side_name(side) << " row " << r << " has a bias";
  }
}

}  // namespace likewise::test
