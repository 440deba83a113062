// SPDX-License-Identifier: Apache-2.0
/// Rows of SGD with the logistic loss.
#pragma once

#include <vector>

#include "likewise/factors.h"
#include "likewise/matrix.h"
#include "likewise/sgd.h"
#include "serving/fold_in.h"

namespace likewise {

/// A value above 0 is a like, any other a dislike. A row minimises half its part of the objective,
///
///     sum of -ln sigma(+-(mean + other bias + bias + x . y))
///         + 1/2 count^nu (lambda |x|^2 + bias_lambda bias^2)
class LogisticRows final : public FoldInSolver {
 public:
  /// `factors` must outlive it.
  LogisticRows(const Factors& factors, const SgdParams& params, Side side);

  [[nodiscard]] Index width() const override { return width_; }
  [[nodiscard]] std::vector<double> solve(const FoldInRow& row) const override;
  [[nodiscard]] Explanation explain(const FoldInRow& row, Index item) const override;

 private:
  const Factors& factors_;
  SgdParams params_;
  Side side_;
  const Matrix& other_;
  Index width_;
};

}  // namespace likewise
