// SPDX-License-Identifier: Apache-2.0
/// SGD over ranks that are threads of this process: an SgdSolver like any other.
#pragma once

#include <chrono>
#include <memory>

#include "backends/distributed/transport/thread_ranks.h"
#include "backends/jobs/sgd.h"

namespace likewise {

struct RankedSgd {
  int ranks = 1;
  std::chrono::milliseconds patience = kRankPatience;
};

/// `by_user` must outlive the solver. Any number of ranks and of threads gives the same factors, to
/// the bit (math.md, "SGD over ranks"). The first epoch() remarks how the ranks share the
/// work. Throws Error(kInvalidArgument) for an order that two ranks or more cannot share: racing,
/// serial.
[[nodiscard]] std::unique_ptr<SgdSolver> make_ranked_sgd_solver(const CsrView& by_user,
                                                                const SgdParams& params,
                                                                Factors start,
                                                                const SgdWhole& whole,
                                                                const RankedSgd& how);

}  // namespace likewise
