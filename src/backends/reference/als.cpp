// SPDX-License-Identifier: Apache-2.0
/// ALS by the definitions, in double precision: the oracle for every other backend. Nothing here is
/// fast on purpose.
#include "likewise/als.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "algorithms/als/weights.h"
#include "backends/jobs/als_errors.h"
#include "backends/reference/jobs.h"
#include "core/linalg/cholesky.h"
#include "core/system/parallel.h"
#include "likewise/matrix.h"

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
      if (const Index column = solve_bounded(a, x); column >= 0) {
        throw_singular(side, row, static_cast<Offset>(columns.size()), column);
      }
      return;
    }
    if (const Index column = cholesky_factor(a.data(), d); column >= 0) {
      throw_singular(side, row, static_cast<Offset>(columns.size()), column);
    }
    cholesky_solve(a.data(), d, x.data());
  }

  /// Minimises x A x / 2 - b x over x >= 0, biases free, by the active-set method of Lawson and
  /// Hanson (Solving Least Squares Problems, 1974, chapter 23); x holds b. Returns -1, or the
  /// column that holds nothing.
  [[nodiscard]] Index solve_bounded(const std::vector<double>& a, Row& x) const {
    const std::size_t d = x.size();
    const auto bounded = static_cast<std::size_t>(params_.factors);
    const Row b = std::exchange(x, Row(d, 0.0));
    std::vector<std::size_t> free;
    for (std::size_t j = 0; j < d; ++j) {
      if (!(a[j * d + j] > 0.0)) return static_cast<Index>(j);
      if (j >= bounded) free.push_back(j);
    }
    for (std::size_t turn = 0; turn < 10 * d; ++turn) {
      for (double step = 0.0; step < 1.0;) {
        Row to(d, 0.0);
        if (const Index column = solve_part(a, b, free, to); column >= 0) return column;
        step = 1.0;
        for (const std::size_t j : free) {
          if (j < bounded && to[j] <= 0.0) step = std::min(step, x[j] / (x[j] - to[j]));
        }
        for (const std::size_t j : free) x[j] += step * (to[j] - x[j]);
        if (step == 1.0) break;
        std::erase_if(free, [&](std::size_t j) {
          const bool arrived = j < bounded && to[j] <= 0.0 && x[j] <= 1e-15 * std::abs(to[j]);
          if (arrived) x[j] = 0.0;
          return arrived;
        });
      }
      const std::size_t next = steepest(a, b, x, free);
      if (next == d) return -1;
      free.push_back(next);
    }
    return -1;
  }

  /// A x = b for the unknowns of `part`, the others at 0. Returns -1, or a column that holds
  /// nothing.
  [[nodiscard]] static Index solve_part(const std::vector<double>& a, const Row& b,
                                        const std::vector<std::size_t>& part, Row& x) {
    const std::size_t n = part.size();
    Row factored(n * n);
    Row solution(n);
    for (std::size_t r = 0; r < n; ++r) {
      solution[r] = b[part[r]];
      for (std::size_t c = 0; c < n; ++c) factored[r * n + c] = a[part[r] * b.size() + part[c]];
    }
    const auto size = static_cast<Index>(n);
    if (const Index pivot = cholesky_factor(factored.data(), size); pivot >= 0) {
      return static_cast<Index>(part[static_cast<std::size_t>(pivot)]);
    }
    cholesky_solve(factored.data(), size, solution.data());
    for (std::size_t r = 0; r < n; ++r) x[part[r]] = solution[r];
    return -1;
  }

  /// Of the unknowns at 0, which are not free, the one whose rise lowers the objective fastest;
  /// x.size() where none does by more than rounding.
  [[nodiscard]] static std::size_t steepest(const std::vector<double>& a, const Row& b,
                                            const Row& x, const std::vector<std::size_t>& free) {
    const std::size_t d = x.size();
    std::size_t found = d;
    double fastest = 0.0;
    for (std::size_t j = 0; j < d; ++j) {
      if (std::ranges::find(free, j) != free.end()) continue;
      double slope = b[j];
      double size = std::abs(b[j]);
      for (std::size_t i = 0; i < d; ++i) {
        slope -= a[j * d + i] * x[i];
        size += std::abs(a[j * d + i] * x[i]);
      }
      if (slope > 1e-13 * size && slope > fastest) {
        fastest = slope;
        found = j;
      }
    }
    return found;
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
