// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/als_solver.h"

#include <algorithm>
#include <cmath>

#include "algorithms/als/weights.h"

namespace likewise {
namespace {

/// Multiply-adds of an exact iteration that cost nothing: about 10 ms of a core.
constexpr double kFewOperations = 2.5e8;

/// Share of the cells that is observed from which on factors grow out of almost nothing.
constexpr double kNearlyComplete = 0.25;

/// Explicit rows of fewer ratings than so many times their unknowns have directions that hardly
/// anything but lambda holds. Where most rows are so short and have less of it per rating than
/// kWeakForMost, what conjugate gradients leave in these directions adds up; less than kWeakForSome
/// is too little for the few short rows that most data have. Less than kNothing float64 cannot tell
/// from rounding.
constexpr double kShort = 2.0;
constexpr double kWeakForMost = 5e-3;
constexpr double kWeakForSome = 1.5e-4;
constexpr double kNothing = 1e-9;

/// count f^2 / 2 for a row's matrix and f^3 / 6 for its factorisation, over both sides.
[[nodiscard]] double exact_operations(const AlsParams& params, const AlsShape& shape) {
  const double f = als_width(params);
  const double rows = static_cast<double>(shape.users) + shape.items;
  return static_cast<double>(shape.interactions) * f * f + rows * f * f * f / 6.0;
}

/// Where nearly all is observed, the first fit is of one factor, and the others begin as small as
/// they were drawn: what a row leaves of them is nothing to the objective, and decides what they
/// become.
[[nodiscard]] bool is_nearly_complete(const AlsParams& params, const AlsShape& shape) {
  return params.feedback == Feedback::kImplicit &&
         static_cast<double>(shape.interactions) >=
             kNearlyComplete * static_cast<double>(shape.users) * shape.items;
}

/// The mean of the side whose rows are shorter.
[[nodiscard]] double mean_count(const AlsShape& shape) {
  return static_cast<double>(std::max<Offset>(1, shape.interactions)) /
         std::max({1, shape.users, shape.items});
}

[[nodiscard]] double regularization_of_rating(const AlsParams& params, const AlsShape& shape) {
  return params.regularization * std::pow(mean_count(shape), params.regularization_exponent - 1);
}

[[nodiscard]] bool is_weakly_held(const AlsParams& params, const AlsShape& shape) {
  if (params.feedback == Feedback::kImplicit) return false;
  const bool most = mean_count(shape) < kShort * als_width(params);
  const double each = regularization_of_rating(params, shape);
  return each >= kNothing && each < (most ? kWeakForMost : kWeakForSome);
}

/// Passes of conjugate gradients that kAuto takes, the first residual included: about so many.
constexpr double kAutoPasses = 6.0;

}  // namespace

double auto_accuracy(Feedback feedback, Offset half_step, Index rows, bool moved) {
  const double accuracy = feedback == Feedback::kImplicit ? 4.5e-5 : 1.3e-5;
  const double share = half_step < 2 ? 0.01 : moved ? 0.5 : 1.0;
  return accuracy * share * std::min(1.0, rows / 1000.0);
}

bool samples_curvature(const AlsParams& params) {
  return params.solver == AlsSolverKind::kAuto && params.feedback == Feedback::kImplicit &&
         cell_form(params) != CellForm::kGiven;
}

AlsRowCost::AlsRowCost(const AlsParams& params, const AlsShape& shape)
    : exact_(solves_exactly(params, shape)),
      width_(als_width(params)),
      passes_(params.solver == AlsSolverKind::kCg ? params.cg_steps + 1.0 : kAutoPasses) {}

double AlsRowCost::row(Offset count) const {
  const auto n = static_cast<double>(count);
  const double k = std::min(n, width_);
  const double solve = exact_ ? n * k * width_ + k * k * k / 6.0 : 2.0 * width_ * n * passes_;
  return solve + 2.0 * width_ * width_;
}

double AlsRowCost::sums(Offset count) const { return static_cast<double>(count) * width_ * width_; }

double AlsRowCost::summed_row() const {
  const double square = width_ * width_;
  return (exact_ ? square * width_ / 6.0 : square * passes_) + 2.0 * square;
}

bool solves_exactly(const AlsParams& params, const AlsShape& shape) {
  if (params.nonnegative) return true;
  if (params.solver != AlsSolverKind::kAuto) return params.solver == AlsSolverKind::kCholesky;
  return exact_operations(params, shape) <= kFewOperations || is_nearly_complete(params, shape) ||
         is_weakly_held(params, shape);
}

AlsParams resolve_solver(AlsParams params, const AlsShape& shape) {
  const bool is_above_rounding =
      params.feedback == Feedback::kImplicit || regularization_of_rating(params, shape) >= kNothing;
  if (params.solver == AlsSolverKind::kAuto && is_above_rounding && solves_exactly(params, shape)) {
    params.solver = AlsSolverKind::kCholesky;
  }
  return params;
}

}  // namespace likewise
