// SPDX-License-Identifier: Apache-2.0
/// ALS over ranks that are threads of this process: an AlsSolver like any other.
#pragma once

#include <array>
#include <chrono>
#include <memory>
#include <optional>

#include "backends/distributed/als/als_exchange.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "backends/jobs/als.h"

namespace likewise {

struct RankedAls {
  int ranks = 1;
  /// In place of the cheapest, for the half-steps that solve users and items.
  std::array<std::optional<AlsExchange>, 2> exchanges{};
  std::chrono::milliseconds patience = kRankPatience;
};

/// `by_user` must outlive the solver. The same number of ranks gives the same bits, whatever the
/// number of threads; another number of ranks another rounding (math.md, "Training over
/// ranks"). The first solve() remarks how the ranks share the work.
[[nodiscard]] std::unique_ptr<AlsSolver> make_ranked_als_solver(const CsrView& by_user,
                                                                const AlsParams& params,
                                                                Factors start,
                                                                int completed_iterations,
                                                                const RankedAls& how);

}  // namespace likewise
