// SPDX-License-Identifier: Apache-2.0
/// Training by iterations, whatever the algorithm: what is reported, validated, kept and resumed.
#pragma once

#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "likewise/factors.h"

namespace likewise {

/// What one iteration did.
struct Iteration {
  int iteration = 0;                 ///< 1 for the first
  double objective = 0.0;            ///< the whole objective after it
  double seconds = 0.0;              ///< wall time of its steps, without validation and checkpoints
  std::optional<double> validation;  ///< the validation metric, where one was asked for
};

/// A training between two iterations. Valid during the call that it is given to.
struct TrainingState {
  std::span<const Iteration> iterations;  ///< all so far; the last is the newest
  int most_iterations = 0;                ///< how many there will be, where nothing stops earlier
  std::string_view metric;                ///< of the iterations' `validation`
  /// The factors of the newest. A device copies them to the host at the first call after an
  /// iteration, so call it only for what is looked at.
  std::function<const Factors&()> factors;
  int best_iteration = 0;         ///< by validation; without one the newest
  const Factors* best = nullptr;  ///< its factors; null where it is the newest
};

/// The first iteration with the best validation; null where nothing was measured.
[[nodiscard]] const Iteration* best_by_validation(std::span<const Iteration> iterations,
                                                  bool higher_is_better);

/// The first iteration whose validation is as good as `target`; null where none is.
[[nodiscard]] const Iteration* first_to_reach(std::span<const Iteration> iterations, double target,
                                              bool higher_is_better);

/// The seconds of training up to the end of each iteration: the sums of their `seconds`.
[[nodiscard]] std::vector<double> elapsed_seconds(std::span<const Iteration> iterations);

}  // namespace likewise
