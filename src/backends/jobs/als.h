// SPDX-License-Identifier: Apache-2.0
/// The job `als`: half an iteration of ALS at a time. The mathematics: math.md; what every
/// device is tested against: src/backends/reference/als.cpp.
#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include "likewise/als.h"
#include "likewise/autotune.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/device.h"
#include "likewise/factors.h"
#include "likewise/memory.h"

namespace likewise {

class AlsRank;
struct AlsRankJob;
struct AlsRankPart;
class Communicator;
struct RankDevice;

/// One ALS training under way. Made with the matrix and the first factors, which it owns from then
/// on. One thread at a time may call it; it uses as many as parallel loops have there.
class AlsSolver {
 public:
  virtual ~AlsSolver() = default;
  /// Solves all rows of `side` for the other side held fixed. Returns the whole objective (both
  /// regularisation terms included) after it, at no extra pass over the data.
  /// Errors: kNumerical naming side and row, kCancelled (the factors are then undefined).
  virtual double solve(Side side, const RunControl& control) = 0;
  /// The current factors, on the host. Valid until the next solve().
  [[nodiscard]] virtual const Factors& factors() = 0;
  /// The factors themselves: the last call on a solver.
  [[nodiscard]] virtual Factors take_factors() = 0;
};

/// The tunings of one GPU. Thread-safe.
class AlsTuner {
 public:
  virtual ~AlsTuner() = default;
  /// All that were compiled for a training with these parameters; at least one.
  [[nodiscard]] virtual std::vector<AlsTuning> variants(const AlsParams& params) const = 0;
  /// The one of each kernel (columns, wide) that is thought the best where nothing was measured;
  /// first the best of all, which is then taken.
  [[nodiscard]] virtual std::vector<AlsTuning> built_in(const AlsParams& params) const = 0;
  /// As chosen_tuning().
  [[nodiscard]] virtual ChosenTuning choose(const AlsParams& params,
                                            const AlsShape& shape) const = 0;
  /// As AlsJob::make_solver, with one of variants(). Precision::kAuto is float16 (float32 where
  /// rows are exact), however few the interactions are.
  [[nodiscard]] virtual std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                               const AlsParams& params,
                                                               Factors start,
                                                               const AlsTuning& tuning) const = 0;
  /// Seconds of a clock, which says how long solvers take.
  [[nodiscard]] virtual double now() const = 0;
  /// As keep_tunings().
  [[nodiscard]] virtual std::string keep(std::span<const TunedAls> winners) const = 0;
  /// Where tunings come from, for people.
  [[nodiscard]] virtual std::string source() const = 0;
  /// As tuning_warning().
  [[nodiscard]] virtual std::string warning() const = 0;
};

/// Trains ALS. Thread-safe.
class AlsJob {
 public:
  static constexpr Job kJob = Job::kAls;

  virtual ~AlsJob() = default;
  /// What make_solver() would take now for a matrix of this shape. Throws Error(kOutOfMemory) with
  /// the figures when it does not fit.
  [[nodiscard]] virtual MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const = 0;
  /// `by_user` (users x items) must outlive the solver; `start` (of the same users and items,
  /// params.factors columns, biases where the parameters have them) is moved in. `params` are valid
  /// (validate() passed). `completed_iterations` of `start`: 0 when it was drawn and has learned
  /// nothing yet. A matrix of 0 x 0 takes nothing of the device. Throws Error(kInvalidArgument) for
  /// parameters that the device cannot do, whatever the matrix is; kOutOfMemory, kDevice.
  [[nodiscard]] virtual std::unique_ptr<AlsSolver> make_solver(
      const CsrView& by_user, const AlsParams& params, Factors start,
      int completed_iterations = 0) const = 0;
  /// As what it would be a rank of a training that others share (distributed/rank_device.h).
  [[nodiscard]] virtual RankDevice rank_device() const;
  /// One rank of such a training (distributed/als_ranks.h): a collective call of devices that
  /// require_devices_together() let pass. `part` has items. Throws as make_solver().
  [[nodiscard]] virtual std::unique_ptr<AlsRank> make_rank(Communicator& ranks,
                                                           const AlsRankJob& job,
                                                           AlsRankPart part) const;
  /// What to choose from where training can be tuned, else null. Belongs to the job.
  [[nodiscard]] virtual const AlsTuner* tuner() const { return nullptr; }
};

}  // namespace likewise
