// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/ranked_als.h"

#include <algorithm>
#include <chrono>
#include <future>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "backends/cuda/als/als_resolve.h"
#include "backends/cuda/als/als_training.h"
#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/distributed/rank_memory.h"
#include "backends/distributed/als/als_ranks.h"
#include "backends/jobs/als_changes.h"
#include "core/system/memory.h"
#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

/// What a row of `count` interactions costs a GPU, in interactions of long rows: a row that has a
/// matrix of its own is worth kRowWork more, one without is walked several times. Measured on the
/// Netflix shape at f = 128: 17 ns a row beside 0.07 ns an interaction.
[[nodiscard]] double row_cost(Offset count, const AlsSetup& setup) {
  constexpr double kEmpty = 8.0;  // to write, rotate and send it
  const auto n = static_cast<double>(count);
  if (count == 0) return kEmpty;
  if (setup.tuning.wide) return kEmpty + n + (setup.exact ? setup.width : 0.0);
  return count <= rows_without_matrix(setup.tuning) ? kEmpty + 1.5 * n : n + kRowWork;
}

/// Costs are multiples of 1 / 2, so that their sums are exact, in whatever order.
[[nodiscard]] Partition cut(std::span<const Offset> offsets, int ranks, const AlsSetup& setup) {
  constexpr Offset kBlock = Offset{1} << 16;
  const auto rows = static_cast<Offset>(offsets.size()) - 1;
  Array<double> sums = Array<double>::uninitialized(rows + 1);
  std::vector<double> blocks(static_cast<std::size_t>((rows + kBlock - 1) / kBlock + 1));
  sums[0] = 0.0;
  parallel_blocks(rows, kBlock, [&](Offset begin, Offset end, Offset block) {
    double sum = 0.0;
    for (Offset row = begin; row < end; ++row) {
      const auto r = static_cast<std::size_t>(row);
      sums[row + 1] = sum += row_cost(offsets[r + 1] - offsets[r], setup);
    }
    blocks[static_cast<std::size_t>(block) + 1] = sum;
  });
  std::partial_sum(blocks.begin(), blocks.end(), blocks.begin());
  parallel_blocks(rows, kBlock, [&](Offset begin, Offset end, Offset block) {
    for (Offset row = begin; row < end; ++row) {
      sums[row + 1] += blocks[static_cast<std::size_t>(block)];
    }
  });
  return cut_equally(sums.span(), ranks);
}

/// Interactions of the part that `rank` has.
[[nodiscard]] Offset entries(std::span<const Offset> offsets, const Partition& parts, int rank) {
  return offsets[static_cast<std::size_t>(parts.end(rank))] -
         offsets[static_cast<std::size_t>(parts.first(rank))];
}

/// Bytes of a row of the fixed side, as GPUs send it.
[[nodiscard]] Offset sent_bytes(const AlsSetup& setup) {
  return Offset{setup.padded} * stored_bytes(setup.precision) +
         (setup.biased ? Offset{sizeof(float)} : 0);
}

[[nodiscard]] std::string describe_share(Side solved, const AlsRanksPlan& plan,
                                         const AlsSetup& setup) {
  const Partition& fixed = plan.parts(other(solved));
  Index most = 0;
  for (int rank = 0; rank < fixed.ranks(); ++rank) {
    most = std::max(most, fixed.rows() - fixed.count(rank));
  }
  return fmt::format("{}: each of {} GPUs solves up to {} rows and gets up to {} of the {}",
                     side_name(solved), fixed.ranks(), plan.parts(solved).largest_count(),
                     size_text(static_cast<double>(most) * static_cast<double>(sent_bytes(setup))),
                     side_name(other(solved)));
}

class CudaAlsRank final : public AlsRank {
 public:
  /// `patience`: for another rank.
  CudaAlsRank(int device, const AlsRows& rows, const AlsSetup& setup, Factors start,
              int completed_iterations, std::unique_ptr<AlsLink> link,
              std::chrono::milliseconds patience)
      : patience_(patience),
        training_(device, rows, setup, std::move(start), completed_iterations, std::move(link)) {}

  double solve(Communicator& ranks, Side side, const RunControl& control) override {
    training_.link()->gpus().start(ranks, control, patience_);
    return training_.solve(side, control);
  }
  const Factors& factors() override { return training_.factors(); }
  [[nodiscard]] const RankTraffic& traffic() { return training_.link()->traffic(); }

 private:
  std::chrono::milliseconds patience_;
  AlsTraining training_;
};

/// A rank whose process has no other one.
class ProcessAlsRank final : public AlsRank {
 public:
  ProcessAlsRank(const GpuUse& use, Communicator& ranks, const AlsRankJob& job, AlsRankPart part,
                 const AlsSetup& setup)
      : gpus_(connect_processes(ranks, job.control, job.patience)) {
    const AlsTotals totals =
        find_totals_together(ranks, job.plan.shape, part.users, part.items.value(), job.params);
    auto link = std::make_unique<AlsLink>(job.plan, gpus_->join(ranks.rank()), false);
    link->gpus().start(ranks, job.control, job.patience);
    rank_.emplace(use.devices.front(), AlsRows{part.users, part.items, &totals}, setup,
                  std::move(part.start), job.completed_iterations, std::move(link), job.patience);
  }

  double solve(Communicator& ranks, Side side, const RunControl& control) override {
    return rank_->solve(ranks, side, control);
  }
  const Factors& factors() override { return rank_->factors(); }

 private:
  std::unique_ptr<ConnectedGpus> gpus_;
  std::optional<CudaAlsRank> rank_;
};

/// What the rank of this process keeps on its GPU, which becomes the current one.
[[nodiscard]] AlsSetup resolve_rank(const GpuUse& use, int ranks, const AlsRankJob& job,
                                    const AlsRankPart& part) {
  const Offset available = available_to_rank(use, use.devices.front());
  const AlsShape own{std::max(1, part.users.rows), std::max(1, part.items->rows),
                     std::max(part.users.nnz(), part.items->nnz())};
  return resolve_als({own, job.plan.shape, ranks}, job.params, use.tuning, available);
}

class RankedCudaAlsSolver final : public AlsSolver {
 public:
  RankedCudaAlsSolver(const GpuUse& use, const CsrView& by_user, const AlsParams& params,
                      Factors start, int completed_iterations)
      : connecting_(std::async(std::launch::async, [&use] { return connect_gpus(use.devices); })),
        item_offsets_(column_offsets(by_user)),
        totals_(find_totals(by_user, item_offsets_, params)),
        setup_(params, use.tuning),
        plan_{totals_.shape,
              cut(offsets_of(by_user), count(use), setup_),
              cut(item_offsets_, count(use), setup_),
              {}},
        gpus_(connecting_.get()),
        setups_(resolve_ranks(use, by_user)),
        by_item_(all_resident() ? CsrMatrix{} : transpose(by_user)),
        trainings_(use.devices.size()),
        ranks_(make_solver_of_ranks(
            {by_user,
             all_resident() ? std::nullopt : std::optional(by_item_.view()),
             plan_,
             {describe_share(Side::kUsers, plan_, setup_),
              describe_share(Side::kItems, plan_, setup_)}},
            with_changes(std::move(start), setup_.moves_starts),
            [&](Communicator& ranks, AlsRankPart part, const RunControl& control) {
              return make_rank(ranks, use, std::move(part), completed_iterations, control);
            })) {}

  double solve(Side side, const RunControl& control) override {
    return ranks_->solve(side, control);
  }
  const Factors& factors() override { return ranks_->factors(); }
  Factors take_factors() override { return ranks_->take_factors(); }

  [[nodiscard]] const RankTraffic& traffic() const {
    return (*std::ranges::max_element(trainings_, {},
                                      [](CudaAlsRank* rank) { return rank->traffic().bytes; }))
        ->traffic();
  }

 private:
  [[nodiscard]] static int count(const GpuUse& use) { return static_cast<int>(use.devices.size()); }

  /// What each rank keeps on its GPU.
  [[nodiscard]] std::vector<AlsSetup> resolve_ranks(const GpuUse& use,
                                                    const CsrView& by_user) const {
    std::vector<AlsSetup> all;
    for (int rank = 0; rank < count(use); ++rank) {
      const int device = use.devices[static_cast<std::size_t>(rank)];
      const Offset available = available_to_rank(use, device);
      const AlsShape part{std::max(1, plan_.users.count(rank)),
                          std::max(1, plan_.items.count(rank)),
                          std::max(entries(offsets_of(by_user), plan_.users, rank),
                                   entries(item_offsets_, plan_.items, rank))};
      all.push_back(
          resolve_als({part, totals_.shape, count(use)}, setup_.params, use.tuning, available));
    }
    return all;
  }

  /// Then the GPUs transpose the matrix together. What is streamed must be in the machine's memory
  /// by item, too.
  [[nodiscard]] bool all_resident() const {
    return std::ranges::all_of(
        setups_, [](const AlsSetup& one) { return one.plan.placement == Placement::kResident; });
  }

  [[nodiscard]] std::unique_ptr<AlsRank> make_rank(Communicator& ranks, const GpuUse& use,
                                                   AlsRankPart part, int completed_iterations,
                                                   const RunControl& control) {
    const auto r = static_cast<std::size_t>(ranks.rank());
    const int device = use.devices[r];
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
    auto link = std::make_unique<AlsLink>(plan_, gpus_->join(ranks.rank()), all_resident());
    link->gpus().start(ranks, control, kRankPatience);
    auto made = std::make_unique<CudaAlsRank>(device, AlsRows{part.users, part.items, &totals_},
                                              setups_[r], std::move(part.start),
                                              completed_iterations, std::move(link), kRankPatience);
    trainings_[r] = made.get();
    return made;
  }

  std::future<std::unique_ptr<ConnectedGpus>> connecting_;  ///< while the host counts
  std::vector<Offset> item_offsets_;
  AlsTotals totals_;
  AlsSetup setup_;  ///< except for the plan of memory, of which each rank has its own
  AlsRanksPlan plan_;
  std::unique_ptr<ConnectedGpus> gpus_;
  std::vector<AlsSetup> setups_;  ///< by rank
  CsrMatrix by_item_;             ///< where a rank streams
  std::vector<CudaAlsRank*> trainings_;
  std::unique_ptr<AlsSolver> ranks_;
};

}  // namespace

MemoryPlan plan_ranked_als(const GpuUse& use, const AlsShape& shape, const AlsParams& params) {
  // Parts are cut by what they cost: what a rank really has is known with the matrix.
  const auto ranks = static_cast<int>(use.devices.size());
  const auto part = [&](auto whole) { return (whole + ranks - 1) / ranks; };
  const AlsShape own{part(shape.users), part(shape.items), part(shape.interactions)};
  Offset least = std::numeric_limits<Offset>::max();
  for (const int device : use.devices) least = std::min(least, available_to_rank(use, device));
  MemoryPlan plan = resolve_als({own, shape, ranks}, params, use.tuning, least).plan.memory;
  plan.placement = fmt::format("on each of {} GPUs: {}", ranks, plan.placement);
  plan.machine = ranks * plan.machine;
  return plan;
}

std::unique_ptr<AlsSolver> make_ranked_als_solver(const GpuUse& use, const CsrView& by_user,
                                                  const AlsParams& params, Factors start,
                                                  int completed_iterations) {
  return std::make_unique<RankedCudaAlsSolver>(use, by_user, params, std::move(start),
                                               completed_iterations);
}

std::unique_ptr<AlsRank> make_process_als_rank(const GpuUse& use, Communicator& ranks,
                                               const AlsRankJob& job, AlsRankPart part) {
  const AlsSetup setup = resolve_rank(use, ranks.size(), job, part);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    job.remarks.push_back(describe_share(side, job.plan, setup));
  }
  return std::make_unique<ProcessAlsRank>(use, ranks, job, std::move(part), setup);
}

const RankTraffic* als_traffic(const AlsSolver& solver) {
  const auto* ranked = dynamic_cast<const RankedCudaAlsSolver*>(&solver);
  return ranked == nullptr ? nullptr : &ranked->traffic();
}

}  // namespace likewise::cuda
