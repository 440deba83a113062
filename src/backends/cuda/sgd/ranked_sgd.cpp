// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/sgd/ranked_sgd.h"

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cuda/distributed/rank_memory.h"
#include "backends/cuda/sgd/sgd_rank.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "core/system/memory.h"

namespace likewise::cuda {
namespace {

/// What the rank that receives the most receives in an epoch.
[[nodiscard]] Offset received_in_epoch(const CudaSgdPlan& plan) {
  const Offset row = Offset{gpu_sgd_columns(plan.params.factors)} * (is_half(plan.params) ? 2 : 4) +
                     Offset{sizeof(SgdRowNumbers)};
  if (plan.params.order == SgdOrder::kBlocked) return plan.items.rows() * row;
  const Offset all = Offset{plan.users.rows()} + plan.items.rows();
  Offset fewest = all;
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    fewest = std::min<Offset>(fewest, Offset{plan.users.count(rank)} + plan.items.count(rank));
  }
  return (all - fewest) * row;
}

[[nodiscard]] std::string describe(const CudaSgdPlan& plan) {
  const auto order = static_cast<std::size_t>(plan.params.order);
  if (plan.ranks() == 1) {
    return fmt::format("sgd {} on one GPU: too few rows for more", kSgdOrderNames[order]);
  }
  return fmt::format("sgd {} on {} GPUs: one gets up to {} in an epoch", kSgdOrderNames[order],
                     plan.ranks(), size_text(static_cast<double>(received_in_epoch(plan))));
}

class RankedCudaSgdSolver final : public SgdSolver {
 public:
  RankedCudaSgdSolver(const GpuUse& use, const CsrView& by_user, const SgdParams& params,
                      Factors start, const SgdWhole& whole)
      : plan_(plan_sgd(by_user, params, whole, static_cast<int>(use.devices.size()))),
        use_(first_gpus(use, plan_.ranks())),
        gpus_(connect_gpus(use_.devices)),
        factors_(std::move(start)),
        threads_(plan_.ranks()) {
    std::vector<GpuSgdPlan> memory;
    for (int rank = 0; rank < plan_.ranks(); ++rank) {
      memory.push_back(resolve_sgd(of_rank(rank), share_of(plan_, rank), params));
    }
    ranks_.resize(use_.devices.size());
    threads_.run(kRankPatience, {}, [&](Communicator& ranks, const RunControl&) {
      const auto r = static_cast<std::size_t>(ranks.rank());
      LIKEWISE_CUDA_CHECK(cudaSetDevice(use_.devices[r]));
      auto connection = ranks.size() > 1 ? gpus_->join(ranks.rank()) : nullptr;
      ranks_[r] = std::make_unique<CudaSgdRank>(use_.devices[r], plan_, ranks.rank(), memory[r],
                                                factors_, std::move(connection));
    });
    plan_.grid.entries = {};
    for (SgdRowEntries& lines : plan_.lines) lines = {};
  }

  double epoch(int number, double learning_rate, const RunControl& control) override {
    if (!std::exchange(described_, true)) control.remark(describe(plan_));
    on_host_ = false;
    double objective = 0.0;
    threads_.run(kRankPatience, control, [&](Communicator& ranks, const RunControl& own) {
      CudaSgdRank& rank = *ranks_[static_cast<std::size_t>(ranks.rank())];
      const double all = rank.epoch(&ranks, number, learning_rate, own);
      if (ranks.rank() == 0) objective = all;
    });
    return objective;
  }

  const Factors& factors() override {
    if (!std::exchange(on_host_, true)) {
      threads_.run(kRankPatience, {}, [&](Communicator& ranks, const RunControl&) {
        ranks_[static_cast<std::size_t>(ranks.rank())]->store(factors_);
      });
    }
    return factors_;
  }
  Factors take_factors() override {
    (void)factors();
    return std::move(factors_);
  }

  [[nodiscard]] const RankTraffic& traffic() const {
    return (*std::ranges::max_element(ranks_, {},
                                      [](const auto& rank) { return rank->traffic().bytes; }))
        ->traffic();
  }

 private:
  /// As many as have something to do.
  [[nodiscard]] static GpuUse first_gpus(GpuUse use, int count) {
    use.devices.resize(static_cast<std::size_t>(count));
    return use;
  }
  /// The rank's GPU before the others.
  [[nodiscard]] GpuUse of_rank(int rank) const {
    GpuUse own = use_;
    std::swap(own.devices.front(), own.devices[static_cast<std::size_t>(rank)]);
    return own;
  }

  CudaSgdPlan plan_;
  GpuUse use_;
  std::unique_ptr<ConnectedGpus> gpus_;
  Factors factors_;
  RankThreads threads_;
  std::vector<std::unique_ptr<CudaSgdRank>> ranks_;
  bool on_host_ = true;
  bool described_ = false;
};

}  // namespace

GpuSgdPlan resolve_sgd(const GpuUse& use, const GpuSgdShare& share, const SgdParams& params) {
  return plan_gpu_sgd(share, params, is_half(params) ? 2 : 4,
                      available_to_rank(use, use.devices.front()));
}

MemoryPlan plan_ranked_sgd(const GpuUse& use, const SgdShape& shape, const SgdParams& params) {
  const auto gpus = static_cast<int>(use.devices.size());
  // Parts are cut by ratings: what a rank really has is known with the matrix.
  const GpuSgdShare share = even_sgd_share(shape, params, gpus);
  MemoryPlan least;
  for (std::size_t rank = 0; rank < use.devices.size(); ++rank) {
    GpuUse own = use;
    std::swap(own.devices.front(), own.devices[rank]);
    const MemoryPlan plan = resolve_sgd(own, share, params).memory;
    if (rank == 0 || plan.available < least.available) least = plan;
  }
  least.placement = fmt::format("on each of {} GPUs: {}", gpus, least.placement);
  least.machine = gpus * least.machine;
  return least;
}

std::unique_ptr<SgdSolver> make_ranked_sgd_solver(const GpuUse& use, const CsrView& by_user,
                                                  const SgdParams& params, Factors start,
                                                  const SgdWhole& whole) {
  return std::make_unique<RankedCudaSgdSolver>(use, by_user, params, std::move(start), whole);
}

const RankTraffic* sgd_traffic(const SgdSolver& solver) {
  const auto* ranked = dynamic_cast<const RankedCudaSgdSolver*>(&solver);
  return ranked == nullptr ? nullptr : &ranked->traffic();
}

}  // namespace likewise::cuda
