// SPDX-License-Identifier: Apache-2.0
#include "backends/als_solver.h"

#include <algorithm>
#include <cmath>

#include "algorithms/weights.h"

namespace likewise {
namespace {

/// Multiply-adds of an exact iteration that cost nothing: about 10 ms of a core.
constexpr double kFewOperations = 2.5e8;

/// Share of the cells that is observed from which on factors grow out of almost nothing.
constexpr double kNearlyComplete = 0.25;

/// lambda per rating below which conjugate gradients leave too much of explicit rows, in directions
/// that hardly anything else holds; and below which float64 cannot tell them from rounding either.
constexpr double kWeak = 3e-3;
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

/// lambda_row / count of a row of mean length, of the side whose rows are shorter.
[[nodiscard]] double regularization_of_a_rating(const AlsParams& params, const AlsShape& shape) {
  const double count = static_cast<double>(std::max<Offset>(1, shape.interactions)) /
                       std::max({1, shape.users, shape.items});
  return params.regularization * std::pow(count, params.regularization_exponent - 1.0);
}

}  // namespace

bool solves_exactly(const AlsParams& params, const AlsShape& shape) {
  if (params.solver != AlsSolverKind::kAuto) return params.solver == AlsSolverKind::kCholesky;
  return exact_operations(params, shape) <= kFewOperations || is_nearly_complete(params, shape);
}

AlsParams settle_solver(AlsParams params, const AlsShape& shape) {
  if (params.solver != AlsSolverKind::kAuto) return params;
  bool exact = solves_exactly(params, shape);
  if (params.feedback == Feedback::kExplicit) {
    const double each = regularization_of_a_rating(params, shape);
    exact = (exact || each < kWeak) && each >= kNothing;
  }
  if (exact) params.solver = AlsSolverKind::kCholesky;
  return params;
}

}  // namespace likewise
