// SPDX-License-Identifier: Apache-2.0
/// All ranks of an ALS training as one solver, whatever computes for them: processors or GPUs.
#pragma once

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "backends/distributed/als/als_exchange.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "backends/jobs/als.h"

namespace likewise {

/// What a rank holds: its rows of the matrix both ways, whose columns are those of the whole
/// matrix, and their factors. The matrices must outlive the rank.
struct AlsRankPart {
  CsrView users;                 ///< its users x all items
  std::optional<CsrView> items;  ///< its items x all users, where AlsOfRanks has them
  Factors start;                 ///< of its users and of its items; later ones take their place
};

/// A training that ranks which are processes share, as one of them sees it.
struct AlsRankJob {
  AlsRanksPlan& plan;  ///< shape and parts; the rank fills in what is exchanged. Must outlive it
  const AlsParams& params;
  int completed_iterations = 0;
  const RunControl& control;           ///< while the rank is made
  std::chrono::milliseconds patience;  ///< for another rank, in all calls
  std::vector<std::string>& remarks;   ///< gets how the ranks share the work
};

class AlsRank {
 public:
  AlsRank() = default;
  AlsRank(const AlsRank&) = delete;
  AlsRank& operator=(const AlsRank&) = delete;
  virtual ~AlsRank() = default;
  /// As AlsSolver::solve(), for the rank's rows: a collective call, which returns the same
  /// objective, that of all rows, on all ranks. After an error the rank is of no use.
  virtual double solve(Communicator& ranks, Side side, const RunControl& control) = 0;
  /// Of its users and of its items, on the host, in the memory of the first ones. Valid until the
  /// next solve().
  [[nodiscard]] virtual const Factors& factors() = 0;
};

/// As plan_ranks(), by ranks that know no more than their own rows: a collective call, which gives
/// the same plan on all. `plan` has shape and parts; its exchanges are chosen here.
[[nodiscard]] AlsRanksPlan plan_ranks_together(Communicator& ranks, const AlsRankPart& part,
                                               AlsRanksPlan plan, const AlsParams& params,
                                               const RankSpeed& speed);

/// Makes the rank of the calling thread: a collective call. `control` is that of RankWork.
using MakeAlsRank = std::function<std::unique_ptr<AlsRank>(Communicator& ranks, AlsRankPart part,
                                                           const RunControl& control)>;

/// A training whose rows are shared out.
struct AlsOfRanks {
  CsrView by_user;
  std::optional<CsrView> by_item;  ///< none: the ranks find theirs by themselves
  const AlsRanksPlan& plan;
  std::vector<std::string> remarks;  ///< of the first solve(): how the ranks share the work
  std::chrono::milliseconds patience = kRankPatience;
};

/// Each rank is a thread. The matrices and the plan must outlive the solver. `start` has the
/// changes that the ranks go on with (with_changes()).
[[nodiscard]] std::unique_ptr<AlsSolver> make_solver_of_ranks(AlsOfRanks how, Factors start,
                                                              const MakeAlsRank& make_rank);

}  // namespace likewise
