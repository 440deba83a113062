// SPDX-License-Identifier: Apache-2.0
/// Solves single rows exactly against the other side held fixed: new users and items, explanations.
#pragma once

#include <vector>

#include "likewise/factors.h"
#include "likewise/recommender.h"

namespace likewise {

/// The normal equations of one row, factored: A = U^T U in double precision.
///
/// With y~ = y (implicit feedback) or y~ = (y, 1) where the side has biases (explicit feedback):
///
///     implicit   A = w0 G + lambda_row I + sum w y y^T      b = sum v y
///     explicit   A = lambda_row I + sum y~ y~^T             b = sum (r - mean - other bias) y~
class RowSystem {
 public:
  /// Factors `matrix` (width x width, upper triangle read). Throws Error(kNumerical) naming pivot
  /// and `count` (the entries of the row) when it is not positive definite.
  RowSystem(std::vector<double> matrix, Index width, Offset count);
  /// A^-1 b, in place.
  void solve(std::vector<double>& b) const;

 private:
  std::vector<double> upper_;  ///< row-major U; entries below the diagonal are not read
  Index width_;
};

/// Throws Error(kInvalidArgument) naming what is wrong with a row over `columns` columns, each of
/// them a `what`.
void check_fold_in_row(const FoldInRow& row, Index columns, const char* what);

/// Rows of `side` against the factors of the other side. Thread-safe after construction.
class FoldInSolver {
 public:
  /// Sums G once for implicit feedback: O(rows f^2). `factors` and `params` must outlive it.
  FoldInSolver(const Factors& factors, const AlsParams& params, Side side);

  /// f, or f + 1 where the side has biases: the solution is then (x, bias).
  [[nodiscard]] Index width() const { return width_; }
  [[nodiscard]] std::vector<double> solve(const FoldInRow& row) const;

  /// score = baseline + sum over j of (y~_item^T A^-1 y~_j) v_j: Hu et al. 2008, section 5.
  [[nodiscard]] Explanation explain(const FoldInRow& row, Index item) const;

  /// Throws Error(kInvalidArgument) naming what is wrong with a row.
  void check(const FoldInRow& row) const {
    check_fold_in_row(row, other_.rows(), other(side_) == Side::kItems ? "item" : "user");
  }

 private:
  [[nodiscard]] RowSystem system(const FoldInRow& row) const;
  [[nodiscard]] std::vector<double> features(Index other_row) const;
  [[nodiscard]] double baseline(Index other_row) const;
  /// The entry's weight in A and in b.
  struct Weights {
    double w;
    double v;
  };
  [[nodiscard]] Weights weights(const FoldInRow& row, std::size_t entry) const;

  const Factors& factors_;
  const AlsParams& params_;
  Side side_;
  const Matrix& other_;
  Index width_;
  std::vector<double> weighted_gram_;  ///< w0 G, width x width; empty for explicit feedback
};

}  // namespace likewise
