// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/als.h"

namespace likewise {

/// Whether a training solves all rows exactly: with kCholesky, where factors are nonnegative, and
/// with kAuto where that costs nothing, or where an error that the objective does not show would
/// grow (math.md, "How the rows are solved").
[[nodiscard]] bool solves_exactly(const AlsParams& params, const AlsShape& shape);

/// The same for a GPU, as a solver: kCholesky, or what `params` say. Other than the processor, a
/// GPU solves all rows by one strategy, and cannot take another for a row that rounding makes
/// singular.
[[nodiscard]] AlsParams resolve_solver(AlsParams params, const AlsShape& shape);

/// Multiply-adds of the rows of a half-step, d wide: what work is shared out by.
class AlsRowCost {
 public:
  AlsRowCost(const AlsParams& params, const AlsShape& shape);

  /// A row with so many interactions, k = min(count, d): count k d for its matrix, or that of the
  /// dual system, and k^3 / 6 for the factorisation; by conjugate gradients 2 d count for each
  /// pass. And 2 d^2 from and to the fixed side's basis.
  [[nodiscard]] double row(Offset count) const;
  /// So many interactions added to their rows' matrices: d^2 each.
  [[nodiscard]] double sums(Offset count) const;
  /// A row whose matrix is there: d^3 / 6, or d^2 for each pass.
  [[nodiscard]] double summed_row() const;

 private:
  bool exact_;
  double width_;
  double passes_;
};

}  // namespace likewise
