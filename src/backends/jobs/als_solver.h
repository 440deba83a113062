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

/// The error in a row's objective that kAuto allows, relative (math.md, "How the rows are solved").
/// The next iteration's warm start reduces it; the first two half-steps, 0 and 1, have no warm
/// start, and all later ones build on them. Over many rows the errors cancel out, over few (of the
/// shorter side) they do not. What moved starts leave to do is the same from iteration to
/// iteration, and adds up: less of it is allowed.
[[nodiscard]] double auto_accuracy(Feedback feedback, Offset half_step, Index rows, bool moved);

/// Whether kAuto may take the curvature of a row's last step from a part of its interactions.
[[nodiscard]] bool samples_curvature(const AlsParams& params);
/// A row with fewer interactions does not. A fourth of so many tells a curvature to about a fifth.
inline constexpr Offset kSampledRow = 256;
/// One part in so many is taken.
inline constexpr Offset kSampleStep = 4;

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
