// SPDX-License-Identifier: Apache-2.0
#include "serving/logistic_problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "algorithms/als/gram.h"
#include "likewise/error.h"
#include "serving/row_system.h"

namespace likewise {
namespace {

using Vector = std::vector<double>;
using Term = LogisticProblem::Term;

/// Steps double their digits near the minimum. Where likes and dislikes can be told apart each adds
/// 1 to the margins until the ridge stops them: at ridge 1e-15 that takes about 40.
constexpr int kMostSteps = 100;
/// A step that moves no margin by more leaves less than its square.
constexpr double kSmallMove = 1e-7;
/// What rounding may do to J, relative to it.
constexpr double kRounding = 1e-12;

/// -ln sigma(margin)
[[nodiscard]] double loss(double margin) {
  return std::max(-margin, 0.0) + std::log1p(std::exp(-std::abs(margin)));
}

[[nodiscard]] double at(const Vector& of_rows, Index row) {
  return row == LogisticProblem::kNone ? 0.0 : of_rows[static_cast<std::size_t>(row)];
}

[[nodiscard]] double margin_of(const Vector& of_rows, const Term& term) {
  return at(of_rows, term.above) - at(of_rows, term.below);
}

/// A minimisation under way.
class Newton {
 public:
  explicit Newton(const LogisticProblem& problem)
      : problem_(problem),
        width_(static_cast<std::size_t>(problem.width)),
        s_(width_, 0.0),
        h_(problem.offsets) {}

  Vector run() {
    for (int step = 0; step < kMostSteps; ++step) {
      if (move_once()) return std::move(s_);
    }
    throw Error(ErrorKind::kNumerical,
                fmt::format("a row with {} entries has no minimum after {} steps: what it likes "
                            "and what it does not can be told apart without end; train with more "
                            "regularization",
                            problem_.count, kMostSteps));
  }

 private:
  [[nodiscard]] const double* row(std::size_t r) const {
    return problem_.features.data() + r * width_;
  }

  [[nodiscard]] double objective(const Vector& s, const Vector& h) const {
    double sum = 0.0;
    for (const Term& term : problem_.terms) sum += term.weight * loss(margin_of(h, term));
    for (std::size_t j = 0; j < width_; ++j) sum += 0.5 * problem_.ridge[j] * s[j] * s[j];
    return sum;
  }

  /// Rows' share of a vector: y~_r . d.
  [[nodiscard]] Vector along(const Vector& d) const {
    Vector result(h_.size());
    for (std::size_t r = 0; r < result.size(); ++r) {
      result[r] = std::inner_product(d.begin(), d.end(), row(r), 0.0);
    }
    return result;
  }

  /// -J'(s) = sum over terms of weight (1 - sigma(margin)) (y~_above - y~_below) - ridge s
  [[nodiscard]] Vector descent() const {
    Vector pull(h_.size(), 0.0);
    for (const Term& term : problem_.terms) {
      const double wrong = term.weight / (1.0 + std::exp(margin_of(h_, term)));
      if (term.above >= 0) pull[static_cast<std::size_t>(term.above)] += wrong;
      if (term.below >= 0) pull[static_cast<std::size_t>(term.below)] -= wrong;
    }
    Vector result(width_);
    for (std::size_t j = 0; j < width_; ++j) result[j] = -problem_.ridge[j] * s_[j];
    for (std::size_t r = 0; r < pull.size(); ++r) {
      for (std::size_t j = 0; j < width_; ++j) result[j] += pull[r] * row(r)[j];
    }
    return result;
  }

  /// J''(s) = diag(ridge) + sum over terms of c (y~_above - y~_below)(y~_above - y~_below)^T with
  /// c = weight sigma(margin) sigma(-margin): the squares row by row, then the mixed products with
  /// z_above = sum of c y~_below.
  [[nodiscard]] RowSystem curvature() const {
    Vector a(width_ * width_, 0.0);
    for (std::size_t j = 0; j < width_; ++j) a[j * width_ + j] = problem_.ridge[j];
    Vector squares(h_.size(), 0.0);
    Vector mixed;
    std::vector<Index> slot(h_.size(), LogisticProblem::kNone);
    std::vector<std::size_t> above;
    for (const Term& term : problem_.terms) {
      const double odds = std::exp(-std::abs(margin_of(h_, term)));
      const double c = term.weight * odds / ((1.0 + odds) * (1.0 + odds));
      if (term.above >= 0) squares[static_cast<std::size_t>(term.above)] += c;
      if (term.below >= 0) squares[static_cast<std::size_t>(term.below)] += c;
      if (term.above < 0 || term.below < 0) continue;
      const auto r = static_cast<std::size_t>(term.above);
      if (slot[r] < 0) {
        slot[r] = static_cast<Index>(above.size());
        above.push_back(r);
        mixed.resize(mixed.size() + width_, 0.0);
      }
      double* const z = mixed.data() + static_cast<std::size_t>(slot[r]) * width_;
      const double* const y = row(static_cast<std::size_t>(term.below));
      for (std::size_t j = 0; j < width_; ++j) z[j] += c * y[j];
    }
    for (std::size_t r = 0; r < squares.size(); ++r) {
      add_outer_product(a, {row(r), row(r) + width_}, squares[r]);
    }
    for (std::size_t m = 0; m < above.size(); ++m) {
      const double* const y = row(above[m]);
      const double* const z = mixed.data() + m * width_;
      for (std::size_t j = 0; j < width_; ++j) {
        for (std::size_t i = j; i < width_; ++i) a[j * width_ + i] -= y[j] * z[i] + z[j] * y[i];
      }
    }
    return {std::move(a), problem_.width, problem_.count};
  }

  /// Armijo's rule: the longest of the steps 1, 1/2, 1/4 ... after which J fell by a share of what
  /// its slope promises. Returns whether this was the last step.
  bool move_once() {
    Vector d = descent();
    const Vector slope = d;
    curvature().solve(d);
    const double decrease = std::inner_product(d.begin(), d.end(), slope.begin(), 0.0);
    const Vector moves = along(d);
    const double before = objective(s_, h_);
    Vector s(width_);
    Vector h(h_.size());
    for (double t = 1.0;; t /= 2.0) {
      for (std::size_t j = 0; j < width_; ++j) s[j] = s_[j] + t * d[j];
      for (std::size_t r = 0; r < h.size(); ++r) h[r] = h_[r] + t * moves[r];
      if (t < 0x1p-60 || objective(s, h) <= before * (1.0 + kRounding) - 1e-4 * t * decrease) {
        break;
      }
    }
    s_ = std::move(s);
    h_ = problem_.offsets;
    const Vector own = along(s_);
    for (std::size_t r = 0; r < h_.size(); ++r) h_[r] += own[r];
    double most = 0.0;
    double largest = 1.0;
    for (const Term& term : problem_.terms) {
      most = std::max(most, std::abs(margin_of(moves, term)));
      largest = std::max(largest, std::abs(margin_of(h_, term)));
    }
    return most <= kSmallMove * largest;
  }

  const LogisticProblem& problem_;
  std::size_t width_;
  Vector s_;
  Vector h_;  ///< offset + y~ . s of each row
};

}  // namespace

std::vector<double> LogisticProblem::minimum() const { return Newton(*this).run(); }

}  // namespace likewise
