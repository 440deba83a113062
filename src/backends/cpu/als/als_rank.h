// SPDX-License-Identifier: Apache-2.0
/// One rank of an ALS training on the CPU: a thread, or a process of its own.
#pragma once

#include <memory>

#include "backends/cpu/als/als_fixed_side.h"
#include "backends/cpu/als/als_half_step.h"
#include "backends/distributed/als/als_ranks.h"

namespace likewise {

/// The fixed side as a rank has it in a half-step: its own rows, and the basis of all.
struct AlsFixedPart {
  const AlsFixedSide& own;
  std::span<const float> bias;  ///< of its own rows; empty without biases
  float mean = 0.0F;
  Offset half_step = 0;
};

/// The half-step of one side, by one kind of exchange.
class AlsRankStep {
 public:
  AlsRankStep() = default;
  AlsRankStep(const AlsRankStep&) = delete;
  AlsRankStep& operator=(const AlsRankStep&) = delete;
  virtual ~AlsRankStep() = default;
  /// Solves the rank's rows. Returns `objective` and what they add to it.
  [[nodiscard]] virtual AlsSums solve(Communicator& ranks, const AlsFixedPart& fixed,
                                      const AlsSolvedRows& rows, double objective,
                                      const RunControl& control) = 0;
};

/// The training, the matrix of the rank's rows of a side, and who holds the others.
struct AlsRankSide {
  const AlsRules& rules;
  const AlsRanksPlan& plan;
  Side solved;
  CsrView rows;        ///< the rank's rows of the solved side
  CsrView fixed_rows;  ///< the rank's rows of the fixed side
};

/// A collective call. `side` names what must outlive the step.
[[nodiscard]] std::unique_ptr<AlsRankStep> make_rank_step(Communicator& ranks,
                                                          const AlsRankSide& side);
[[nodiscard]] std::unique_ptr<AlsRankStep> make_summing_step(Communicator& ranks,
                                                             const AlsRankSide& side);

class CpuAlsRank final : public AlsRank {
 public:
  /// A collective call. `plan` must outlive the rank; `part` has items.
  CpuAlsRank(Communicator& ranks, const AlsRanksPlan& plan, const AlsParams& params,
             AlsRankPart part, int completed_iterations);

  double solve(Communicator& ranks, Side side, const RunControl& control) override;
  [[nodiscard]] const Factors& factors() override { return part_.factors; }

 private:
  struct Part {
    CsrView matrices[2];
    Factors factors;
  };

  AlsRules rules_;
  Part part_;
  AlsFixedSide fixed_side_;
  std::unique_ptr<AlsRankStep> steps_[2];
  Offset half_steps_;  ///< begun so far, those before `start` included
};

}  // namespace likewise
