// SPDX-License-Identifier: Apache-2.0
/// SGD on the CPU: by one rank (sgd_rank.h), or by several.
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/cpu/sgd/ranked_sgd.h"
#include "backends/cpu/sgd/sgd_rank.h"
#include "core/system/memory.h"

namespace likewise {
namespace {

/// What is the same for one rank and for several.
class CpuSgdSolver : public SgdSolver {
 public:
  CpuSgdSolver(SgdRanksPlan plan, Factors start)
      : plan_(std::move(plan)), factors_(std::move(start)) {}

  const Factors& factors() override {
    if (!std::exchange(fresh_, true)) {
      for (const auto& rank : ranks_) rank->store(factors_);
    }
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

 protected:
  SgdRanksPlan plan_;
  std::vector<std::unique_ptr<CpuSgdRank>> ranks_;
  Factors factors_;
  bool fresh_ = true;  ///< factors_ is what the ranks hold
};

class OneSgdSolver final : public CpuSgdSolver {
 public:
  OneSgdSolver(SgdRanksPlan plan, Factors start) : CpuSgdSolver(std::move(plan), std::move(start)) {
    ranks_.push_back(make_only_sgd_rank(plan_, factors_));
  }

  double epoch(int, double learning_rate, const RunControl& control) override {
    fresh_ = false;
    return ranks_.front()->epoch(nullptr, learning_rate, control);
  }
};

class RankedSgdSolver final : public CpuSgdSolver {
 public:
  RankedSgdSolver(SgdRanksPlan plan, Factors start, std::chrono::milliseconds patience)
      : CpuSgdSolver(std::move(plan), std::move(start)),
        patience_(patience),
        threads_(plan_.ranks()) {
    ranks_.resize(static_cast<std::size_t>(plan_.ranks()));
    threads_.run(patience_, {}, [&](Communicator& ranks, const RunControl&) {
      ranks_[static_cast<std::size_t>(ranks.rank())] = make_sgd_rank(plan_, ranks.rank(), factors_);
    });
    plan_.grid.entries = {};
    for (SgdRowEntries& rows : plan_.rows) rows = {};
  }

  double epoch(int, double learning_rate, const RunControl& control) override {
    if (!std::exchange(described_, true)) control.remark(describe());
    fresh_ = false;
    double objective = 0.0;
    threads_.run(patience_, control, [&](Communicator& ranks, const RunControl& own) {
      const auto r = static_cast<std::size_t>(ranks.rank());
      const double all = ranks_[r]->epoch(&ranks, learning_rate, own);
      if (ranks.rank() == 0) objective = all;
    });
    return objective;
  }

 private:
  [[nodiscard]] std::string describe() const {
    return fmt::format("sgd {} on {} ranks: one receives up to {} in an epoch",
                       kSgdOrderNames[static_cast<std::size_t>(plan_.params.order)], plan_.ranks(),
                       size_text(static_cast<double>(received_in_epoch(plan_))));
  }

  std::chrono::milliseconds patience_;
  RankThreads threads_;
  bool described_ = false;
};

}  // namespace

std::unique_ptr<SgdSolver> make_cpu_sgd_solver(const CsrView& by_user, const SgdParams& params,
                                               Factors start, const SgdWhole& whole) {
  return std::make_unique<OneSgdSolver>(plan_sgd_ranks(by_user, params, whole, 1),
                                        std::move(start));
}

std::unique_ptr<SgdSolver> make_ranked_sgd_solver(const CsrView& by_user, const SgdParams& params,
                                                  Factors start, const SgdWhole& whole,
                                                  const RankedSgd& how) {
  return std::make_unique<RankedSgdSolver>(plan_sgd_ranks(by_user, params, whole, how.ranks),
                                           std::move(start), how.patience);
}

}  // namespace likewise
