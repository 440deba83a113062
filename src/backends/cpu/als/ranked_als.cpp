// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/ranked_als.h"

#include <utility>

#include "backends/cpu/als/als_rank.h"
#include "backends/distributed/als/als_ranks.h"
#include "backends/jobs/als_changes.h"

namespace likewise {
namespace {

/// What the ranks work on, and they.
class RankedAlsSolver final : public AlsSolver {
 public:
  RankedAlsSolver(const CsrView& by_user, const AlsParams& params, Factors start,
                  int completed_iterations, const RankedAls& how)
      : by_item_(transpose(by_user)),
        plan_(plan_ranks(by_user, by_item_.view(), params, how.ranks, kThreadSpeed, how.exchanges)),
        ranks_(
            make_solver_of_ranks({by_user,
                                  by_item_.view(),
                                  plan_,
                                  {describe(Side::kUsers, plan_.exchange(Side::kUsers)),
                                   describe(Side::kItems, plan_.exchange(Side::kItems))},
                                  how.patience},
                                 with_changes(std::move(start), moves_starts(params, plan_.shape)),
                                 [&](Communicator& ranks, AlsRankPart part, const RunControl&) {
                                   return std::make_unique<CpuAlsRank>(
                                       ranks, plan_, params, std::move(part), completed_iterations);
                                 })) {}

  double solve(Side side, const RunControl& control) override {
    return ranks_->solve(side, control);
  }
  const Factors& factors() override { return ranks_->factors(); }
  Factors take_factors() override { return ranks_->take_factors(); }

 private:
  CsrMatrix by_item_;
  AlsRanksPlan plan_;
  std::unique_ptr<AlsSolver> ranks_;
};

}  // namespace

std::unique_ptr<AlsSolver> make_ranked_als_solver(const CsrView& by_user, const AlsParams& params,
                                                  Factors start, int completed_iterations,
                                                  const RankedAls& how) {
  return std::make_unique<RankedAlsSolver>(by_user, params, std::move(start), completed_iterations,
                                           how);
}

}  // namespace likewise
