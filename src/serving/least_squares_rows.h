// SPDX-License-Identifier: Apache-2.0
/// Rows of ALS, and of SGD with the squared loss: normal equations.
#pragma once

#include <functional>
#include <span>
#include <vector>

#include "algorithms/als/weights.h"
#include "likewise/als.h"
#include "likewise/factors.h"
#include "likewise/matrix.h"
#include "likewise/sgd.h"
#include "serving/fold_in.h"
#include "serving/row_system.h"

namespace likewise {

/// What a row's least-squares problem is made of.
struct RowWeights {
  double missing = 0.0;  ///< w0
  /// lambda_row of a row with `count` entries, or likes, `unseen` of them in rows that training did
  /// not see: of its factors, and of its bias.
  std::function<double(Offset count, Index unseen)> regularization;
  std::function<double(Offset count, Index unseen)> bias_regularization;
  /// Of an entry by its value, and what the score is before the row's own factors and bias come in.
  std::function<CellWeights(double value, double baseline)> cell;
  /// What of a row with these values `count` is. None: its entries.
  std::function<Offset(std::span<const float> values)> counted{};
  bool nonnegative = false;  ///< factors are 0 or more
};
/// `other_side_rows`: those of the other side that had entries in training.
[[nodiscard]] RowWeights row_weights(const AlsParams& params, Index other_side_rows);
[[nodiscard]] RowWeights row_weights(const SgdParams& params);

/// With y~ = y, or (y, 1) where the side has biases, the normal equations of a row are
///
///     A = w0 G + diag(lambda_row) + sum w y~ y~^T      b = sum v y~
///
/// with v = r - mean - other bias for ratings. Nonnegative factors minimise x^T A x - 2 b^T x for
/// x >= 0, so that those above 0 solve their part of the equations, and the rest are 0. G is the
/// sum over the rows that training saw, and those in which the new row has an entry.
class LeastSquaresRows final : public FoldInSolver {
 public:
  /// Sums G once where w0 is not 0: O(rows f^2). `factors` must outlive it.
  LeastSquaresRows(const Factors& factors, RowWeights weights, Side side);

  [[nodiscard]] Index width() const override { return width_; }
  void leave_out(std::span<const Index> unseen) override;
  [[nodiscard]] std::vector<double> solve(const FoldInRow& row) const override;
  /// score = baseline + sum over j of (y~_item^T A^-1 y~_j) v_j: Hu et al. 2008, section 5.
  [[nodiscard]] Explanation explain(const FoldInRow& row, Index item) const override;

 private:
  [[nodiscard]] std::vector<double> matrix(const FoldInRow& row) const;
  [[nodiscard]] std::vector<double> right_side(const FoldInRow& row) const;
  /// Factors that are 0 because they may not be less have no part in `features`: sets those to 0,
  /// and the system to what the others solve.
  void leave_out_bounded(const FoldInRow& row, std::vector<double>& matrix,
                         std::vector<double>& features) const;
  [[nodiscard]] std::vector<double> features(Index other_row) const;
  [[nodiscard]] double baseline(Index other_row) const;
  [[nodiscard]] bool is_unseen(Index other_row) const;
  [[nodiscard]] CellWeights weights(const FoldInRow& row, std::size_t entry) const;

  const Factors& factors_;
  RowWeights weights_;
  Side side_;
  const Matrix& other_;
  Index width_;
  std::vector<double> weighted_gram_;  ///< w0 G of the rows seen; empty where w0 is 0
  std::vector<Index> unseen_;          ///< rows of the other side, rising
};

}  // namespace likewise
