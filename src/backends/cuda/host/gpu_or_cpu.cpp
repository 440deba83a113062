// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/gpu_or_cpu.h"

#include <string>
#include <utility>

#include <fmt/format.h>

#include "algorithms/cost.h"

namespace likewise {
namespace {

/// A GPU takes about so long to start.
constexpr double kSecondsOfStart = 1.0;

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
    return jobs_.cpu->local_weights(by_user, system, candidates, control);
  }

 private:
  /// A GPU refuses candidates.
  [[nodiscard]] Taken<EaseJob> taken_for(const EaseShape& shape) const {
    const double items = shape.items;
    return take(jobs_, shape, items * items * items / kDenseRate);
  }

  GpuAndCpu<EaseJob> jobs_;
};

}  // namespace

bool gpu_pays(double core_seconds) { return core_seconds / thread_count() > kSecondsOfStart; }

std::shared_ptr<const EaseJob> make_gpu_or_cpu(GpuAndCpu<EaseJob> jobs) {
  return std::make_shared<EaseOnGpuOrCpu>(std::move(jobs));
}

}  // namespace likewise
