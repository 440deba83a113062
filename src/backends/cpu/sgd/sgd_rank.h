// SPDX-License-Identifier: Apache-2.0
/// One rank of an SGD training on the CPU: all of it, where there is but one.
#pragma once

#include <memory>

#include "algorithms/sgd/grid.h"
#include "backends/distributed/communicator.h"
#include "backends/distributed/sgd_parts.h"
#include "likewise/control.h"
#include "likewise/factors.h"
#include "likewise/sgd.h"

namespace likewise {

/// What all ranks of a training share.
struct SgdRanksPlan : SgdParts {
  SgdParams params;
  double spread = 1.0;  ///< of the values
  SgdGrid grid;
  SgdRowEntries rows[2];  ///< of users and of items, for kAlternating; the grid has no entries then
  bool bounded = false;   ///< SgdWhole's
};

/// For `ranks` ranks, or fewer where not all would have a stripe. Throws Error(kInvalidArgument)
/// for an order that ranks cannot share.
[[nodiscard]] SgdRanksPlan plan_sgd_ranks(const CsrView& by_user, const SgdParams& params,
                                          const SgdWhole& whole, int ranks);

/// Bytes that the rank which receives the most receives in an epoch.
[[nodiscard]] Offset received_in_epoch(const SgdRanksPlan& plan);

class CpuSgdRank {
 public:
  CpuSgdRank() = default;
  CpuSgdRank(const CpuSgdRank&) = delete;
  CpuSgdRank& operator=(const CpuSgdRank&) = delete;
  virtual ~CpuSgdRank() = default;

  /// As SgdSolver::epoch(): with several ranks a collective call, which returns the same objective,
  /// that of all rows, on all of them. `ranks` is null where the rank is the only one.
  virtual double epoch(Communicator* ranks, double learning_rate, const RunControl& control) = 0;
  /// Its rows of both sides, to where they belong.
  virtual void store(Factors& to) const = 0;
};

/// `plan` must outlive the rank, except for the entries in it, which the rank copies. `start` are
/// the factors of all rows.
[[nodiscard]] std::unique_ptr<CpuSgdRank> make_sgd_rank(const SgdRanksPlan& plan, int rank,
                                                        const Factors& start);
/// The only rank takes the entries out of the plan.
[[nodiscard]] std::unique_ptr<CpuSgdRank> make_only_sgd_rank(SgdRanksPlan& plan,
                                                             const Factors& start);

}  // namespace likewise
