// SPDX-License-Identifier: Apache-2.0
/// What the ranks of all orders share, and how each of them is made.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

#include "backends/cpu/kernels/sgd_steps.h"
#include "backends/cpu/sgd/sgd_rank.h"

namespace likewise {

/// For kBlocked and, where there is one rank, kRacing and kSerial. `entries` are those of the
/// rank's stripes.
[[nodiscard]] std::unique_ptr<CpuSgdRank> make_stripes_rank(const SgdRanksPlan& plan, int rank,
                                                            const Factors& start,
                                                            Array<SgdEntry> entries);
/// For kAlternating. `users` and `items` are the rank's lines of both sides.
[[nodiscard]] std::unique_ptr<CpuSgdRank> make_rows_rank(const SgdRanksPlan& plan, int rank,
                                                         const Factors& start, SgdRowEntries users,
                                                         SgdRowEntries items);

[[nodiscard]] inline kernels::SgdRun make_run(const SgdRanksPlan& plan, const Factors& start) {
  kernels::SgdRun run;
  run.stride = start.users.stride();
  run.mean = start.global_mean;
  run.square_scale = static_cast<float>(step_scales(plan.spread, plan.params.factors).square);
  run.bounded = plan.bounded;
  run.nonnegative = plan.params.nonnegative;
  run.logistic = plan.params.loss == SgdLoss::kLogistic;
  return run;
}

inline void set_rate(kernels::SgdRun& run, const SgdRanksPlan& plan, double learning_rate) {
  const StepScales scales = step_scales(plan.spread, plan.params.factors);
  run.rate = static_cast<float>(learning_rate * scales.rate);
  run.bias_rate = plan.params.biases ? static_cast<float>(learning_rate) : 0.0F;
}

/// The numbers of all ranks, in the order of the ranks.
[[nodiscard]] inline std::vector<double> gathered(Communicator* ranks, std::vector<double> own,
                                                  const std::vector<Offset>& counts) {
  if (ranks == nullptr) return own;
  std::vector<double> all(
      static_cast<std::size_t>(std::accumulate(counts.begin(), counts.end(), Offset{0})));
  ranks->all_gather<double>(own, all, counts);
  return all;
}

/// In blocks that do not depend on who computed the terms.
[[nodiscard]] inline double sum_in_blocks(std::span<const double> terms) {
  constexpr std::size_t kBlock = 4096;
  double total = 0.0;
  for (std::size_t begin = 0; begin < terms.size(); begin += kBlock) {
    const auto block = terms.subspan(begin, std::min(kBlock, terms.size() - begin));
    total += std::accumulate(block.begin(), block.end(), 0.0);
  }
  return total;
}

/// The regularization of a side, of which `terms` are the rank's rows.
[[nodiscard]] inline double regularization(Communicator* ranks, const Partition& parts,
                                           std::vector<double> terms) {
  return sum_in_blocks(gathered(ranks, std::move(terms), parts.counts(1)));
}

}  // namespace likewise
