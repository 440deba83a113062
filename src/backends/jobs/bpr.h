// SPDX-License-Identifier: Apache-2.0
/// The job `bpr`: an epoch of Bayesian personalised ranking at a time. The mathematics:
/// math.md; what every device is tested against: src/backends/reference/bpr.cpp.
#pragma once

#include <cstdint>
#include <memory>
#include <span>

#include "algorithms/sgd/setup.h"
#include "likewise/bpr.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/factors.h"
#include "likewise/memory.h"

namespace likewise {

/// What likes that are part of more do not say themselves, for steps that go on with a model.
/// Empty: they are all there is.
struct BprWhole {
  const CsrView* likes = nullptr;           ///< all that their users like: no negatives
  std::span<const Offset> item_counts{};    ///< how often each item is liked by anybody
  std::span<const std::uint8_t> changes{};  ///< by item: 0 where it stays as it is
};

/// One BPR training under way. One thread at a time may call it; it uses as many as parallel loops
/// have there.
class BprSolver {
 public:
  virtual ~BprSolver() = default;
  /// One step for every like for which a negative was found. Epochs count from 1; what is drawn
  /// depends on the number. Returns the sum of -ln sigma, each just before its step. Errors:
  /// kCancelled (the factors are then undefined).
  virtual double epoch(int number, const RunControl& control) = 0;
  /// The current factors, on the host. Valid until the next epoch().
  [[nodiscard]] virtual const Factors& factors() = 0;
  /// The factors themselves: the last call on a solver.
  [[nodiscard]] virtual Factors take_factors() = 0;
};

/// Trains by BPR. Thread-safe.
class BprJob {
 public:
  static constexpr Job kJob = Job::kBpr;

  virtual ~BprJob() = default;
  /// What make_solver() would take now for likes of this shape. Throws Error(kOutOfMemory) with the
  /// figures when it does not fit.
  [[nodiscard]] virtual MemoryPlan plan(const SgdShape& shape, const BprParams& params) const = 0;
  /// `likes` (users x items, whatever the values) must outlive the solver; `start` (of the same
  /// users and items, params.factors columns, item biases where the parameters have them) is moved
  /// in. `params` are valid. Throws Error(kInvalidArgument) for parameters that the device cannot
  /// do, whatever the matrix is; kOutOfMemory, kDevice. Where `likes` are part of more, `whole`
  /// says what steps need to know of that; it must outlive the solver.
  [[nodiscard]] virtual std::unique_ptr<BprSolver> make_solver(
      const CsrView& likes, const BprParams& params, Factors start,
      const BprWhole& whole = {}) const = 0;
};

}  // namespace likewise
