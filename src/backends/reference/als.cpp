// SPDX-License-Identifier: Apache-2.0
/// ALS by the definitions, in double precision: the oracle for every other backend. Nothing here is
/// fast on purpose.
#include "likewise/als.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "algorithms/als/weights.h"
#include "backends/als_errors.h"
#include "backends/reference/jobs.h"
#include "core/cholesky.h"
#include "core/parallel.h"

namespace likewise {
namespace {

using Row = std::vector<double>;

/// One side in double precision. A row is what is solved for: the factors, then the bias if any.
struct DoubleSide {
  std::vector<Row> rows;
};

class ReferenceAlsSolver final : public AlsSolver {
 public:
  ReferenceAlsSolver(const CsrView& by_user, const AlsParams& params, Factors start)
      : params_(params),
        biased_(params.feedback == Feedback::kExplicit && params.biases),
        by_user_(by_user),
        by_item_(transpose(by_user)),
        factors_(std::move(start)) {
    for (const Side side : {Side::kUsers, Side::kItems}) load(side);
  }

  double solve(Side side, const RunControl& control) override {
    const CsrView matrix = side == Side::kUsers ? by_user_ : by_item_.view();
    const std::vector<double> gram = unobserved_gram(other(side));
    parallel_for(matrix.rows, 1, [&](Offset row) {
      control.check();
      solve_row(side, matrix, static_cast<Index>(row), gram);
    });
    store(side);
    return objective();
  }

  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  [[nodiscard]] std::vector<Row>& rows(Side side) { return sides_[side == Side::kItems].rows; }
  [[nodiscard]] const std::vector<Row>& rows(Side side) const {
    return sides_[side == Side::kItems].rows;
  }
  /// Unknowns of a row: f, and one more with biases.
  [[nodiscard]] Index width() const { return params_.factors + (biased_ ? 1 : 0); }

  void load(Side side) {
    const Matrix& from = factors_.side(side);
    rows(side).assign(static_cast<std::size_t>(from.rows()), Row());
    for (Index r = 0; r < from.rows(); ++r) {
      Row& row = rows(side)[static_cast<std::size_t>(r)];
      row.assign(from.row(r), from.row(r) + from.cols());
      if (biased_) row.push_back(factors_.bias(side)[r]);
    }
  }

  void store(Side side) {
    Matrix& to = factors_.side(side);
    for (Index r = 0; r < to.rows(); ++r) {
      const Row& row = rows(side)[static_cast<std::size_t>(r)];
      for (Index j = 0; j < to.cols(); ++j)
        to.row(r)[j] = static_cast<float>(row[static_cast<std::size_t>(j)]);
      if (biased_) factors_.bias(side)[r] = static_cast<float>(row.back());
    }
  }

  /// What multiplies a row's unknowns: the other side's factors, and 1 for the bias.
  [[nodiscard]] Row features(Side fixed, Index r) const {
    Row phi = rows(fixed)[static_cast<std::size_t>(r)];
    if (biased_) phi.back() = 1.0;
    return phi;
  }

  /// w0 Y^T Y for implicit feedback, 0 for explicit.
  [[nodiscard]] std::vector<double> unobserved_gram(Side fixed) const {
    const Index d = width();
    std::vector<double> gram(static_cast<std::size_t>(d) * static_cast<std::size_t>(d), 0.0);
    if (params_.feedback == Feedback::kExplicit) return gram;
    const double w0 = missing_weight(params_);
    for (const Row& y : rows(fixed)) add_outer(gram, y, w0);
    return gram;
  }

  static void add_outer(std::vector<double>& a, const Row& y, double weight) {
    const std::size_t d = y.size();
    for (std::size_t i = 0; i < d; ++i) {
      for (std::size_t j = 0; j < d; ++j) a[i * d + j] += weight * y[i] * y[j];
    }
  }

  /// (w0 Y^T Y + lambda_row I + sum w y y^T) x = sum v y
  void solve_row(Side side, const CsrView& matrix, Index row, const std::vector<double>& gram) {
    const Index d = width();
    Row& x = rows(side)[static_cast<std::size_t>(row)];
    x.assign(static_cast<std::size_t>(d), 0.0);
    const auto columns = matrix.row_columns(row);
    const auto values = matrix.row_values(row);
    if (columns.empty()) return;

    std::vector<double> a = gram;
    const double lambda =
        row_regularization(params_, counted_entries(params_, values), matrix.cols);
    for (Index j = 0; j < d; ++j)
      a[static_cast<std::size_t>(j) * static_cast<std::size_t>(d + 1)] += lambda;
    for (std::size_t i = 0; i < columns.size(); ++i) {
      const Row phi = features(other(side), columns[i]);
      const CellWeights weight = weight_of(other(side), columns[i], values[i]);
      add_outer(a, phi, weight.w);
      for (std::size_t j = 0; j < phi.size(); ++j) x[j] += weight.v * phi[j];
    }
    if (params_.nonnegative) {
      if (const Index column = descend(a, x); column >= 0) {
        throw_singular(side, row, static_cast<Offset>(columns.size()), column);
      }
      return;
    }
    if (const Index column = cholesky_factor(a.data(), d); column >= 0) {
      throw_singular(side, row, static_cast<Offset>(columns.size()), column);
    }
    cholesky_solve(a.data(), d, x.data());
  }

  /// Solves A x = b for x >= 0, biases free, one unknown after the other; x holds b. Returns -1, or
  /// the column that holds nothing.
  [[nodiscard]] Index descend(const std::vector<double>& a, Row& x) const {
    const std::size_t d = x.size();
    const Row b = std::exchange(x, Row(d, 0.0));
    const auto bounded = static_cast<std::size_t>(params_.factors);
    double moved = 1.0;
    for (int sweep = 0; moved > 0.0 && sweep < 100'000; ++sweep) {
      moved = 0.0;
      for (std::size_t j = 0; j < d; ++j) {
        if (!(a[j * d + j] > 0.0)) return static_cast<Index>(j);
        double gradient = -b[j];
        for (std::size_t i = 0; i < d; ++i) gradient += a[j * d + i] * x[i];
        const double to = x[j] - gradient / a[j * d + j];
        const double next = j < bounded ? std::max(to, 0.0) : to;
        if (std::abs(next - x[j]) > 1e-15 * std::abs(x[j])) moved = std::abs(next - x[j]);
        x[j] = next;
      }
    }
    return -1;
  }

  /// Explicit ratings: the target is what mean and the fixed side's bias leave over.
  [[nodiscard]] CellWeights weight_of(Side fixed, Index column, float value) const {
    if (params_.feedback == Feedback::kImplicit) return cell_weights(params_, value);
    double target = value;
    if (biased_)
      target -= factors_.global_mean + rows(fixed)[static_cast<std::size_t>(column)].back();
    return {1.0, target, target * target};
  }

  /// The whole objective by its definition, an m x n pass.
  [[nodiscard]] double objective() const {
    double sum = 0.0;
    const double w0 = params_.feedback == Feedback::kExplicit ? 0.0 : missing_weight(params_);
    for (Index u = 0; u < by_user_.rows; ++u) {
      const auto columns = by_user_.row_columns(u);
      const auto values = by_user_.row_values(u);
      const Row& x = rows(Side::kUsers)[static_cast<std::size_t>(u)];
      for (std::size_t i = 0; i < columns.size(); ++i) {
        const CellWeights weight = weight_of(Side::kItems, columns[i], values[i]);
        const double s = dot(x, features(Side::kItems, columns[i]));
        sum += weight.w * s * s - 2.0 * weight.v * s + weight.constant;
      }
      if (w0 != 0.0) {
        for (const Row& y : rows(Side::kItems)) sum += w0 * dot(x, y) * dot(x, y);
      }
    }
    return sum + regularization(Side::kUsers, by_user_) +
           regularization(Side::kItems, by_item_.view());
  }

  [[nodiscard]] double regularization(Side side, const CsrView& matrix) const {
    double sum = 0.0;
    for (Index r = 0; r < matrix.rows; ++r) {
      const Row& x = rows(side)[static_cast<std::size_t>(r)];
      const Offset count = counted_entries(params_, matrix.row_values(r));
      sum += row_regularization(params_, count, matrix.cols) * dot(x, x);
    }
    return sum;
  }

  static double dot(const Row& a, const Row& b) {
    double sum = 0.0;
    for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
    return sum;
  }

  AlsParams params_;
  bool biased_;
  CsrView by_user_;
  CsrMatrix by_item_;
  Factors factors_;
  DoubleSide sides_[2];
};

}  // namespace

std::unique_ptr<AlsSolver> make_reference_als_solver(const CsrView& by_user,
                                                     const AlsParams& params, Factors start) {
  return std::make_unique<ReferenceAlsSolver>(by_user, params, std::move(start));
}

}  // namespace likewise
