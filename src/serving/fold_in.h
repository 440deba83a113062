// SPDX-License-Identifier: Apache-2.0
/// Single rows against the other side held fixed, exactly: new users and items, explanations.
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "likewise/factors.h"
#include "likewise/model.h"
#include "likewise/recommender.h"

namespace likewise {

/// Throws Error(kInvalidArgument) naming what is wrong with a row over `columns` columns, each of
/// them a `what`.
void check_fold_in_row(const FoldInRow& row, Index columns, const char* what);

/// Finds the minimum of a row's part of the objective that its model was trained with. Rows have
/// been checked. Thread-safe after construction.
class FoldInSolver {
 public:
  virtual ~FoldInSolver() = default;

  /// f, or f + 1 where rows have biases: the solution is then (x, bias).
  [[nodiscard]] virtual Index width() const = 0;
  /// Zeros for a row without entries. Errors: kInvalidArgument (a row that the objective says
  /// nothing of), kNumerical (the minimum is not a single point that can be computed).
  [[nodiscard]] virtual std::vector<double> solve(const FoldInRow& row) const = 0;
  /// Rows of the other side that training did not see, rising: their factors are not from there.
  /// Cells without an entry in them weigh nothing. Called once, before all others.
  virtual void leave_out(std::span<const Index> /*unseen*/) {}
  /// Throws Error(kInvalidArgument) where scores are no sums over the row's entries.
  [[nodiscard]] virtual Explanation explain(const FoldInRow& row, Index item) const = 0;
};

/// The solver for rows of `side` by a model's parameters. Both must outlive it. Throws
/// Error(kInvalidArgument) for models and sides that have none.
[[nodiscard]] std::unique_ptr<FoldInSolver> make_fold_in_solver(const Model& model,
                                                                const Factors& factors, Side side);

}  // namespace likewise
