// SPDX-License-Identifier: Apache-2.0
/// The job `sgd`: an epoch of SGD at a time. The mathematics: math.md; what every device is
/// tested against: src/backends/reference/sgd.cpp.
#pragma once

#include <memory>

#include "algorithms/sgd/setup.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/factors.h"
#include "likewise/memory.h"
#include "likewise/sgd.h"

namespace likewise {

/// One SGD training under way. One thread at a time may call it; it uses as many as parallel loops
/// have there.
class SgdSolver {
 public:
  virtual ~SgdSolver() = default;
  /// One step for every rating, with this learning rate. Epochs count from 1; how a device rounds
  /// may depend on the number. Returns the objective, with each rating's loss just before its step.
  /// Errors: kCancelled (the factors are then undefined).
  virtual double epoch(int number, double learning_rate, const RunControl& control) = 0;
  /// The current factors, on the host. Valid until the next epoch().
  [[nodiscard]] virtual const Factors& factors() = 0;
  /// The factors themselves: the last call on a solver.
  [[nodiscard]] virtual Factors take_factors() = 0;
};

/// Trains by SGD. Thread-safe.
class SgdJob {
 public:
  static constexpr Job kJob = Job::kSgd;

  virtual ~SgdJob() = default;
  /// What make_solver() would take now for a matrix of this shape. Throws Error(kOutOfMemory) with
  /// the figures when it does not fit.
  [[nodiscard]] virtual MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const = 0;
  /// `by_user` (users x items) must outlive the solver; `start` (of the same users and items,
  /// params.factors columns, biases and sums of squares where the parameters have them) is moved
  /// in. `params` are valid. Throws Error(kInvalidArgument) for parameters that the device cannot
  /// do, whatever the matrix is; kOutOfMemory, kDevice. Where `by_user` is part of a larger matrix,
  /// `whole` says what steps need to know of that; it must outlive the solver.
  [[nodiscard]] virtual std::unique_ptr<SgdSolver> make_solver(
      const CsrView& by_user, const SgdParams& params, Factors start,
      const SgdWhole& whole = {}) const = 0;
};

}  // namespace likewise
