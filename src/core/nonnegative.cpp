// SPDX-License-Identifier: Apache-2.0
#include "core/nonnegative.h"

#include <algorithm>
#include <cmath>

#include "core/linalg/cholesky.h"
#include "core/nonnegative_rules.h"

namespace likewise {
NonnegativeSolver::NonnegativeSolver(Index width, Index bounded)
    : width_(static_cast<std::size_t>(width)),
      bounded_(static_cast<std::size_t>(bounded)),
      is_free_(width_) {}

Index NonnegativeSolver::solve(std::span<const double> a, std::span<const double> b,
                               std::span<double> x) {
  for (std::size_t j = 0; j < width_; ++j) is_free_[j] = j >= bounded_ || x[j] > 0.0;
  PivotingProgress progress(static_cast<int>(width_));
  for (int turn = 0; turn < progress.most_turns(); ++turn) {
    if (const Index pivot = solve_free(a, b, x); pivot >= 0) return pivot;
    find_wrong(a, b, x);
    if (wrong_.empty()) {
      for (std::size_t j = 0; j < bounded_; ++j) x[j] = std::max(x[j], 0.0);
      return -1;
    }
    exchange(progress.exchanges_all(static_cast<int>(wrong_.size())) ? wrong_.size() : 1);
  }
  return static_cast<Index>(wrong_.back());
}

/// The free unknowns for the others at 0.
Index NonnegativeSolver::solve_free(std::span<const double> a, std::span<const double> b,
                                    std::span<double> x) {
  free_.clear();
  for (std::size_t j = 0; j < width_; ++j) {
    if (is_free_[j] != 0) free_.push_back(j);
  }
  const std::size_t n = free_.size();
  factored_.resize(n * n);
  solution_.resize(n);
  for (std::size_t r = 0; r < n; ++r) {
    for (std::size_t c = r; c < n; ++c) factored_[r * n + c] = a[free_[r] * width_ + free_[c]];
    solution_[r] = b[free_[r]];
  }
  const auto size = static_cast<Index>(n);
  if (const Index pivot = cholesky_factor(factored_.data(), size); pivot >= 0) {
    return static_cast<Index>(free_[static_cast<std::size_t>(pivot)]);
  }
  cholesky_solve(factored_.data(), size, solution_.data());
  std::ranges::fill(x, 0.0);
  for (std::size_t r = 0; r < n; ++r) x[free_[r]] = solution_[r];
  return -1;
}

/// Free unknowns below 0, and others whose gradient A x - b would have them rise.
void NonnegativeSolver::find_wrong(std::span<const double> a, std::span<const double> b,
                                   std::span<const double> x) {
  wrong_.clear();
  for (std::size_t j = 0; j < bounded_; ++j) {
    if (is_free_[j] != 0) {
      if (x[j] < 0.0) wrong_.push_back(j);
      continue;
    }
    double gradient = -b[j];
    double size = std::abs(b[j]);
    for (const std::size_t i : free_) {
      const double term = at(a, i, j) * x[i];
      gradient += term;
      size += std::abs(term);
    }
    if (gradient < -kGradientRounding * size) wrong_.push_back(j);
  }
}

void NonnegativeSolver::exchange(std::size_t count) {
  for (std::size_t i = wrong_.size() - count; i < wrong_.size(); ++i) {
    is_free_[wrong_[i]] = is_free_[wrong_[i]] == 0;
  }
}

double NonnegativeSolver::objective(std::span<const double> a, std::span<const double> b,
                                    std::span<const double> x) const {
  double sum = 0.0;
  for (std::size_t i = 0; i < width_; ++i) {
    double product = -2.0 * b[i];
    for (std::size_t j = 0; j < width_; ++j) product += at(a, i, j) * x[j];
    sum += x[i] * product;
  }
  return sum;
}

}  // namespace likewise
