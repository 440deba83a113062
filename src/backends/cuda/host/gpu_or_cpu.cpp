// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/gpu_or_cpu.h"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "algorithms/cost.h"

namespace likewise {
namespace {

/// A GPU takes about so long to start.
constexpr double kSecondsOfStart = 1.0;
/// Numbers of B that a core adds up a second for lists of many users, as measured, and bytes of B
/// that go to a GPU a second, an estimate.
constexpr double kWeightRate = 8.9e9;
constexpr double kUploadRate = 1e10;

template <class TrainingJob>
struct Taken {
  const TrainingJob& job;
  std::string remark;
};

template <class TrainingJob, class Shape>
[[nodiscard]] Taken<TrainingJob> take(const GpuAndCpu<TrainingJob>& jobs, const Shape& shape,
                                      double core_seconds) {
  constexpr std::string_view kName = kJobNames[static_cast<std::size_t>(TrainingJob::kJob)];
  if (!gpu_pays(core_seconds)) {
    return {*jobs.cpu, fmt::format("{} on the cpu: too little work for a GPU", kName)};
  }
  try {
    (void)jobs.gpu->plan(shape);
    return {*jobs.gpu, fmt::format("{} on the GPU", kName)};
  } catch (const Error& error) {
    return {*jobs.cpu, fmt::format("{} on the cpu: {}", kName, error.what())};
  }
}

class EaseOnGpuOrCpu final : public EaseJob {
 public:
  explicit EaseOnGpuOrCpu(GpuAndCpu<EaseJob> jobs) : jobs_(std::move(jobs)) {}
  [[nodiscard]] MemoryPlan plan(const EaseShape& shape) const override {
    return taken_for(shape).job.plan(shape);
  }
  [[nodiscard]] Matrix dense_weights(const CsrView& by_user, const EaseSystem& system,
                                     const RunControl& control) const override {
    const auto taken = taken_for({by_user.rows, by_user.cols, by_user.nnz(), 0});
    control.remark(taken.remark);
    return taken.job.dense_weights(by_user, system, control);
  }
  [[nodiscard]] KnnLists local_weights(const CsrView& by_user, const EaseSystem& system,
                                       const KnnLists& candidates,
                                       const RunControl& control) const override {
    check_candidates(by_user, candidates);
    Index most = 0;
    for (Index item = 0; item < candidates.size(); ++item) {
      most = std::max(most, static_cast<Index>(candidates.rows_of(item).size()));
    }
    if (most == 0) return jobs_.cpu->local_weights(by_user, system, candidates, control);
    const auto taken = taken_for({by_user.rows, by_user.cols, by_user.nnz(), most});
    control.remark(taken.remark);
    return taken.job.local_weights(by_user, system, candidates, control);
  }
  [[nodiscard]] std::unique_ptr<WeightLists> make_lists(const MatrixView& weights,
                                                        Offset entries) const override {
    if (!gpu_pays_for_lists(weights.cols, entries)) return nullptr;
    try {
      return jobs_.gpu->make_lists(weights, entries);
    } catch (const Error&) {  // the processor has B anyway
      return jobs_.cpu->make_lists(weights, entries);
    }
  }

 private:
  /// By the operations of the dense inverse, or of the systems of candidates.
  [[nodiscard]] Taken<EaseJob> taken_for(const EaseShape& shape) const {
    const bool is_local = shape.candidates > 0;
    const double order = is_local ? std::min(shape.candidates, shape.items) : shape.items;
    const double systems = is_local ? shape.items : 1;
    return take(jobs_, shape, systems * order * order * order / kDenseRate);
  }

  GpuAndCpu<EaseJob> jobs_;
};

class SpectralOnGpuOrCpu final : public SpectralJob {
 public:
  explicit SpectralOnGpuOrCpu(GpuAndCpu<SpectralJob> jobs) : jobs_(std::move(jobs)) {}
  [[nodiscard]] MemoryPlan plan(const SpectralShape& shape) const override {
    return taken_for(shape).job.plan(shape);
  }
  [[nodiscard]] SpectralFactors decompose(const CsrView& by_user, int factors, std::uint64_t seed,
                                          const RunControl& control) const override {
    const auto taken = taken_for(by_user, factors);
    control.remark(taken.remark);
    return taken.job.decompose(by_user, factors, seed, control);
  }
  [[nodiscard]] Matrix users(const CsrView& by_user, std::span<const double> scale,
                             const Matrix& items) const override {
    return taken_for(by_user, items.cols()).job.users(by_user, scale, items);
  }

 private:
  [[nodiscard]] Taken<SpectralJob> taken_for(const SpectralShape& shape) const {
    return take(jobs_, shape, spectral_core_seconds(shape));
  }
  [[nodiscard]] Taken<SpectralJob> taken_for(const CsrView& by_user, int factors) const {
    return taken_for(SpectralShape{by_user.rows, by_user.cols, by_user.nnz(), factors});
  }

  GpuAndCpu<SpectralJob> jobs_;
};

}  // namespace

bool gpu_pays(double core_seconds) { return core_seconds / thread_count() > kSecondsOfStart; }

bool gpu_pays_for_lists(Index items, Offset entries) {
  const double weights = static_cast<double>(items) * items;
  const double on_cpu = static_cast<double>(entries) * items / kWeightRate / thread_count();
  return on_cpu > kSecondsOfStart + weights * sizeof(float) / kUploadRate;
}

std::shared_ptr<const EaseJob> make_gpu_or_cpu(GpuAndCpu<EaseJob> jobs) {
  return std::make_shared<EaseOnGpuOrCpu>(std::move(jobs));
}

std::shared_ptr<const SpectralJob> make_gpu_or_cpu(GpuAndCpu<SpectralJob> jobs) {
  return std::make_shared<SpectralOnGpuOrCpu>(std::move(jobs));
}

}  // namespace likewise
