// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/cuda_tuner.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "backends/cuda/host/built_in_tunings.h"
#include "backends/distributed/als/als_ranks.h"
#include "backends/jobs/als_solver.h"
#include "core/system/utc_now.h"

namespace likewise {
namespace {

/// What a training of this shape does where the parameters leave it to the program.
[[nodiscard]] AlsParams resolved(const AlsParams& params, const AlsShape& shape) {
  return resolve_precision(resolve_solver(params, shape), shape.interactions);
}

}  // namespace

CudaTuner::CudaTuner(const CudaAls& als, std::vector<int> devices, const GpuInfo& gpu, int driver,
                     Offset memory)
    : als_(als),
      devices_(std::move(devices)),
      memory_(memory),
      gpu_(gpu),
      owner_{gpu.name, gpu.major, gpu.minor, driver},
      path_(tuning_path(owner_)) {
  try {
    kept_ = read_tunings(path_, owner_);
    require_compiled();
  } catch (const Error& error) {
    kept_ = {};
    warning_ = fmt::format(
        "the tunings of this GPU are ignored: {}; `likewise autotune` measures "
        "them anew",
        error.what());
  }
}

void CudaTuner::require_compiled() const {
  for (const Winner& one : kept_.winners) {
    const std::vector<AlsTuning> compiled = als_.variants(gpu_, one.work);
    if (std::ranges::find(compiled, one.tuning) != compiled.end()) continue;
    throw Error(ErrorKind::kBadData,
                fmt::format("{}: this build has no kernel for {}", path_, tuning_text(one.tuning)));
  }
}

std::vector<AlsTuning> CudaTuner::variants(const AlsParams& params) const {
  return als_.variants(gpu_, als_work(params));
}

std::vector<AlsTuning> CudaTuner::built_in(const AlsParams& params) const {
  return built_in_tunings(gpu_, als_work(params), variants(params));
}

ChosenTuning CudaTuner::choose(const AlsParams& given, const AlsShape& shape) const {
  const AlsParams params = resolved(given, shape);
  const AlsWork work = als_work(params);
  const auto found = std::ranges::find_if(
      kept_.winners, [&](const Winner& one) { return same_work(one.work, work); });
  if (found == kept_.winners.end()) return {built_in(params).front(), unmeasured_source()};
  return {found->tuning, fmt::format("measured here, {}", path_)};
}

std::unique_ptr<AlsSolver> CudaTuner::make_solver(const CsrView& by_user, const AlsParams& params,
                                                  Factors start, const AlsTuning& tuning) const {
  AlsParams resolved = params;
  resolved.precision = als_work(params).precision;
  return als_.make_solver({devices_, tuning, memory_}, by_user, resolved, std::move(start), 0);
}

std::unique_ptr<AlsSolver> CudaTuner::make_solver(const CsrView& by_user, const AlsParams& params,
                                                  Factors start, int completed_iterations) const {
  const AlsShape shape{by_user.rows, by_user.cols, by_user.nnz()};
  return als_.make_solver({devices_, choose(params, shape).tuning, memory_}, by_user,
                          resolved(params, shape), std::move(start), completed_iterations);
}

std::unique_ptr<AlsRank> CudaTuner::make_rank(Communicator& ranks, const AlsRankJob& job,
                                              AlsRankPart part) const {
  AlsTuning tuning = choose(job.params, job.plan.shape).tuning;
  // What was measured is kept by each machine for itself.
  std::vector<Offset> counts(static_cast<std::size_t>(ranks.size()), 0);
  counts[0] = 1;
  const std::span<AlsTuning> chosen(&tuning, 1);
  ranks.all_gather<AlsTuning>(ranks.rank() == 0 ? chosen : chosen.first(0), chosen, counts);
  const AlsParams params = resolved(job.params, job.plan.shape);
  return als_.make_rank(
      {devices_, tuning, memory_}, ranks,
      {job.plan, params, job.completed_iterations, job.control, job.patience, job.remarks},
      std::move(part));
}

MemoryPlan CudaTuner::plan(const AlsShape& shape, const AlsParams& params) const {
  return als_.plan({devices_, choose(params, shape).tuning, memory_}, shape,
                   resolved(params, shape));
}

std::vector<Winner> CudaTuner::winners_by_now() const {
  if (!warning_.empty()) return {};  // what was there is of no use
  try {
    return read_tunings(path_, owner_).winners;
  } catch (const Error&) {
    return kept_.winners;
  }
}

std::string CudaTuner::keep(std::span<const TunedAls> winners) const {
  HeldFile file = hold_tunings(path_);
  Tunings all{winners_by_now(), utc_now()};
  for (const TunedAls& one : winners) {
    const AlsWork work = als_work(one.params);
    std::erase_if(all.winners, [&](const Winner& old) { return same_work(old.work, work); });
    all.winners.push_back({work, one.tuning, one.seconds});
  }
  write_tunings(file, owner_, all);
  return path_;
}

std::string CudaTuner::source() const {
  if (!warning_.empty()) return fmt::format("{}; {}", unmeasured_source(), warning_);
  if (kept_.winners.empty()) {
    return unmeasured_source() + "; `likewise autotune` measures on this GPU";
  }
  return fmt::format("{} measured here on {}, else {}: {}", kept_.winners.size(), kept_.measured,
                     unmeasured_source(), path_);
}

std::string CudaTuner::unmeasured_source() const {
  return is_measured(gpu_) ? "built in" : "estimated from the GPU's numbers";
}

}  // namespace likewise
