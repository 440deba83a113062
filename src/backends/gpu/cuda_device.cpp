// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/cuda_device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>

#include "algorithms/finite.h"
#include "backends/gpu/cuda_tuner.h"
#include "backends/gpu/load_plugin.h"
#include "backends/jobs/device_jobs.h"
#include "core/instruction_set.h"
#include "core/memory_plan.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr int kOldestMajor = 8;

/// Why a GPU lacks a job that the plug-in has not got.
constexpr const char* kNotOnGpus = "this version does it on the CPU only";

[[nodiscard]] std::string name_of(int device) { return fmt::format("cuda:{}", device); }

/// What keeps the GPU from use; empty where nothing does.
[[nodiscard]] std::string problem_of(const GpuInfo& gpu) {
  if (!gpu.problem.empty() || gpu.major >= kOldestMajor) return gpu.problem;
  return fmt::format("too old: compute capability {}.0 or newer is needed", kOldestMajor);
}

[[nodiscard]] bool is_usable(const GpuInfo& gpu) { return problem_of(gpu).empty(); }

[[nodiscard]] std::string describe(const GpuInfo& gpu) {
  const std::string problem = problem_of(gpu);
  return fmt::format("{}, compute capability {}.{}, {:.0f} GiB{}{}", gpu.name, gpu.major, gpu.minor,
                     static_cast<double>(gpu.memory) / (1 << 30), problem.empty() ? "" : ": ",
                     problem);
}

class CudaAlsJob final : public AlsJob {
 public:
  CudaAlsJob(const CudaAls& als, int device, const GpuInfo& gpu, int driver, Offset memory)
      : name_(name_of(device)), tuner_(als, device, gpu, driver, memory) {}
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
    MemoryPlan plan = tuner_.plan(shape, params);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.placement),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int completed_iterations) const override {
    // The sign of an entry's weight is that of its value: likes and dislikes.
    check_weights(by_user, params, name_);
    return tuner_.make_solver(by_user, params, std::move(start), completed_iterations);
  }
  [[nodiscard]] const AlsTuner* tuner() const override { return &tuner_; }

 private:
  std::string name_;
  CudaTuner tuner_;
};

class CudaNeighbourJob final : public NeighbourJob {
 public:
  CudaNeighbourJob(const CudaNeighbours& neighbours, int device, const GpuInfo& gpu)
      : neighbours_(neighbours), device_(device), gpu_(gpu) {}
  [[nodiscard]] std::unique_ptr<NeighbourSearch> make_search(
      const SimilarityProblem& problem) const override {
    return neighbours_.make_search(device_, gpu_, problem);
  }

 private:
  const CudaNeighbours& neighbours_;
  int device_;
  GpuInfo gpu_;
};

class CudaSgdJob final : public SgdJob {
 public:
  CudaSgdJob(const CudaSgd& sgd, int device, Offset memory)
      : sgd_(sgd), name_(name_of(device)), use_{{device}, {}, memory} {}
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const SgdParams& params) const override {
    MemoryPlan plan = sgd_.plan(use_, shape, params);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.placement),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] std::unique_ptr<SgdSolver> make_solver(const CsrView& by_user,
                                                       const SgdParams& params, Factors start,
                                                       const SgdWhole& whole) const override {
    return sgd_.make_solver(use_, by_user, params, std::move(start), whole);
  }

 private:
  const CudaSgd& sgd_;
  std::string name_;
  GpuUse use_;
};

class CudaBprJob final : public BprJob {
 public:
  CudaBprJob(const CudaBpr& bpr, int device, Offset memory)
      : bpr_(bpr), name_(name_of(device)), use_{{device}, {}, memory} {}
  [[nodiscard]] MemoryPlan plan(const SgdShape& shape, const BprParams& params) const override {
    MemoryPlan plan = bpr_.plan(use_, shape, params);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.placement),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] std::unique_ptr<BprSolver> make_solver(const CsrView& likes,
                                                       const BprParams& params, Factors start,
                                                       const BprWhole& whole) const override {
    return bpr_.make_solver(use_, likes, params, std::move(start), whole);
  }

 private:
  const CudaBpr& bpr_;
  std::string name_;
  GpuUse use_;
};

class CudaTopKJob final : public TopKJob {
 public:
  CudaTopKJob(const CudaTopK& top_k, int device, Offset memory)
      : top_k_(top_k), use_{{device}, {}, memory} {}
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                    std::span<const float> item_bias,
                                                    ScoreKind score) const override {
    return top_k_.make_scorer(use_, items, item_bias, score);
  }

 private:
  const CudaTopK& top_k_;
  GpuUse use_;
};

class CudaPredictionJob final : public PredictionJob {
 public:
  CudaPredictionJob(const CudaPredictions& predictions, int device, const GpuInfo& gpu,
                    Offset memory)
      : predictions_(predictions), use_{{device}, {}, memory}, gpu_(gpu) {}
  [[nodiscard]] std::unique_ptr<Predictions> by_factors(const Factors& factors) const override {
    return predictions_.by_factors(use_, factors);
  }
  [[nodiscard]] std::unique_ptr<Predictions> by_neighbours(
      const NeighbourModel& model) const override {
    return predictions_.by_neighbours(use_, gpu_, model);
  }

 private:
  const CudaPredictions& predictions_;
  GpuUse use_;
  GpuInfo gpu_;
};

/// GPU number `device`, which can be used.
[[nodiscard]] Device make_cuda_device(const CudaPlugin& plugin, const FoundGpus& found, int device,
                                      const DeviceOptions& options) {
  chosen_target();
  const GpuInfo& gpu = found.gpus[static_cast<std::size_t>(device)];
  JobTable table;
  std::apply([](auto&... offers) { ((offers.reason = kNotOnGpus), ...); }, table);
  if (plugin.als != nullptr) {
    std::get<Offer<AlsJob>>(table) = {std::make_shared<CudaAlsJob>(
        *plugin.als, device, gpu, found.driver, options.device_memory)};
  }
  if (plugin.neighbours != nullptr) {
    std::get<Offer<NeighbourJob>>(table) = {
        std::make_shared<CudaNeighbourJob>(*plugin.neighbours, device, gpu)};
  }
  if (plugin.sgd != nullptr) {
    std::get<Offer<SgdJob>>(table) = {
        std::make_shared<CudaSgdJob>(*plugin.sgd, device, options.device_memory)};
  }
  if (plugin.bpr != nullptr) {
    std::get<Offer<BprJob>>(table) = {
        std::make_shared<CudaBprJob>(*plugin.bpr, device, options.device_memory)};
  }
  if (plugin.top_k != nullptr) {
    std::get<Offer<TopKJob>>(table) = {
        std::make_shared<CudaTopKJob>(*plugin.top_k, device, options.device_memory)};
  }
  if (plugin.predictions != nullptr) {
    std::get<Offer<PredictionJob>>(table) = {std::make_shared<CudaPredictionJob>(
        *plugin.predictions, device, gpu, options.device_memory)};
  }
  return make_device(
      name_of(device), [text = describe(gpu)] { return text; }, std::move(table));
}

[[noreturn]] void refuse(std::string_view device, const std::string& reason) {
  throw Error(ErrorKind::kDevice, fmt::format("device {}: {}", device, reason));
}

/// The GPU of that number, or the first one that can be used.
[[nodiscard]] int choose(std::string_view device, std::optional<int> wanted,
                         const std::vector<GpuInfo>& gpus) {
  const auto first = std::ranges::find_if(gpus, is_usable);
  if (!wanted && first != gpus.end()) return static_cast<int>(first - gpus.begin());
  const auto number = static_cast<std::size_t>(wanted.value_or(0));
  if (number >= gpus.size()) {
    refuse(device, fmt::format("this machine has {} GPU{}, numbered from 0; `likewise info` lists "
                               "them",
                               gpus.size(), gpus.size() == 1 ? "" : "s"));
  }
  if (!is_usable(gpus[number])) refuse(device, describe(gpus[number]));
  return static_cast<int>(number);
}

}  // namespace

Device open_cuda(std::string_view device, std::optional<int> wanted, const DeviceOptions& options) {
  const CudaPlugin& plugin = load_cuda_plugin();
  const FoundGpus found = plugin.find_gpus();
  if (found.gpus.empty()) refuse(device, found.problem);
  return make_cuda_device(plugin, found, choose(device, wanted, found.gpus), options);
}

std::vector<DeviceStatus> cuda_statuses() {
  try {
    const CudaPlugin& plugin = load_cuda_plugin();
    const FoundGpus found = plugin.find_gpus();
    if (found.gpus.empty()) return {{"cuda", false, found.problem, {}, {}}};
    std::vector<DeviceStatus> lines;
    for (const GpuInfo& gpu : found.gpus) {
      const int device = static_cast<int>(lines.size());
      if (is_usable(gpu)) {
        lines.push_back(status_of(make_cuda_device(plugin, found, device, {})));
      } else {
        lines.push_back({name_of(device), false, describe(gpu), {}, {}});
      }
    }
    return lines;
  } catch (const std::exception& error) {
    return {{"cuda", false, error.what(), {}, {}}};
  }
}

}  // namespace likewise
