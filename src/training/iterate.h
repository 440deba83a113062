// SPDX-License-Identifier: Apache-2.0
/// The one loop of all algorithms that iterate: validate, report, keep the best, stop, resume.
#pragma once

#include <span>
#include <string>

#include "algorithms/iteration_run.h"
#include "likewise/iteration.h"

namespace likewise {

/// One training under way.
class Trainer {
 public:
  virtual ~Trainer() = default;
  /// One iteration over all the data; returns the objective after it.
  virtual double step(const RunControl& control) = 0;
  /// The factors as they stand, on the host; valid until the next step.
  [[nodiscard]] virtual const Factors& factors() = 0;
  /// The factors themselves: the last call.
  [[nodiscard]] virtual Factors take() = 0;
};

/// When to stop.
struct Stopping {
  int iterations = 0;      ///< at most so many, earlier ones of a resumed training included
  double tolerance = 0.0;  ///< the objective fell by less than this share; 0 = off
  int patience = 0;        ///< so many iterations without a better validation; 0 = off
};

/// Of an algorithm whose parameters have these.
template <class Params>
[[nodiscard]] Stopping stopping_of(const Params& params) {
  return {params.iterations, params.tolerance, params.patience};
}

/// Why a training that stands at the last of `iterations` is over ("target", "patience",
/// "tolerance", "iterations"); empty where it goes on. A target that an earlier one reached counts.
[[nodiscard]] std::string stop_reason(std::span<const Iteration> iterations,
                                      const Stopping& stopping, const Validation& validation,
                                      int best_iteration);

/// Which iteration of a resumed training was the best by validation; 0 where none was measured.
/// Throws Error(kInvalidArgument) where it is neither the last nor `best_kept`: its factors are
/// gone.
[[nodiscard]] int resumed_best(std::span<const Iteration> iterations, const Validation& validation,
                               int best_kept);

/// Runs the trainer, which stands where `run` says, until it is over or `run.stop` is set. A
/// resumed training ends as one without a break would have: with the same iterations and the same
/// best one. Errors: kCancelled where it is set before any iteration, kInvalidArgument where the
/// best iteration so far has left no factors to go back to and for a target without validation,
/// kNumerical where the objective is not finite, and the trainer's.
[[nodiscard]] IterationResult iterate(Trainer& trainer, const Stopping& stopping,
                                      const IterationRun& run);

}  // namespace likewise
