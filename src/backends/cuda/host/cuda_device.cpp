// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/cuda_device.h"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/finite.h"
#include "backends/cuda/host/auto_training.h"
#include "backends/cuda/host/cuda_tuner.h"
#include "backends/cuda/host/gpu_or_cpu.h"
#include "backends/cuda/host/load_plugin.h"
#include "backends/cuda/host/several_gpus.h"
#include "backends/cuda/host/top_k_plan.h"
#include "backends/distributed/als/als_ranks.h"
#include "backends/distributed/devices/ranked_device.h"
#include "backends/distributed/devices/ranked_knn.h"
#include "backends/distributed/rank_device.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/instruction_set.h"
#include "core/system/memory.h"
#include "likewise/error.h"
#include "retrieval/batches.h"

namespace likewise {
namespace {

constexpr int kOldestMajor = 8;

/// Why a GPU lacks a job that the plug-in has not got.
constexpr const char* kNotOnGpus = "this version does it on the CPU only";

/// "cuda:0", "cuda:0,1".
[[nodiscard]] std::string name_of(const std::vector<int>& devices) {
  return fmt::format("cuda:{}", fmt::join(devices, ","));
}
[[nodiscard]] std::string name_of(int device) { return name_of(std::vector{device}); }

/// What keeps the GPU from use; empty where nothing does.
[[nodiscard]] std::string problem_of(const GpuInfo& gpu) {
  if (!gpu.problem.empty() || gpu.major >= kOldestMajor) return gpu.problem;
  return fmt::format("too old: compute capability {}.0 or newer is needed", kOldestMajor);
}

[[nodiscard]] bool is_usable(const GpuInfo& gpu) { return problem_of(gpu).empty(); }

/// What same_kind() compares.
[[nodiscard]] std::string kind_text(const GpuInfo& gpu) {
  return fmt::format("{} with {} multiprocessors", gpu.name, gpu.specs.multiprocessors);
}

[[nodiscard]] std::string describe(const GpuInfo& gpu) {
  const std::string problem = problem_of(gpu);
  return fmt::format("{}, compute capability {}.{}, {:.0f} GiB{}{}", gpu.name, gpu.major, gpu.minor,
                     static_cast<double>(gpu.memory) / (1 << 30), problem.empty() ? "" : ": ",
                     problem);
}

/// On one GPU, or on several of a kind.
class CudaAlsJob final : public AlsJob {
 public:
  CudaAlsJob(const CudaPlugin& plugin, const std::vector<int>& devices, const GpuInfo& gpu,
             int driver, Offset memory)
      : plugin_(plugin),
        name_(name_of(devices)),
        alone_(devices.size() == 1),
        gpu_(gpu),
        tuner_(*plugin.als, devices, gpu, driver, memory) {}
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
  [[nodiscard]] RankDevice rank_device() const override {
    RankDevice device{name_, kind_text(gpu_), gpu_.uuid, {}, {}};
    device.problem =
        alone_ ? plugin_.connection_problem() : "a rank among others trains on one GPU";
    if (device.problem.empty()) device.connection = plugin_.connection();
    return device;
  }
  [[nodiscard]] std::unique_ptr<AlsRank> make_rank(Communicator& ranks, const AlsRankJob& job,
                                                   AlsRankPart part) const override {
    check_weights(part.users, job.params, name_);
    return tuner_.make_rank(ranks, job, std::move(part));
  }
  /// One GPU is tuned at a time.
  [[nodiscard]] const AlsTuner* tuner() const override { return alone_ ? &tuner_ : nullptr; }

 private:
  const CudaPlugin& plugin_;
  std::string name_;
  bool alone_;
  GpuInfo gpu_;  ///< one of them
  CudaTuner tuner_;
};

class CudaKnnJob final : public KnnJob {
 public:
  CudaKnnJob(const CudaKnn& neighbours, int device, const GpuInfo& gpu)
      : neighbours_(neighbours), device_(device), gpu_(gpu) {}
  [[nodiscard]] std::unique_ptr<KnnSearch> make_search(
      const SimilarityProblem& problem) const override {
    return neighbours_.make_search(device_, gpu_, problem);
  }

 private:
  const CudaKnn& neighbours_;
  int device_;
  GpuInfo gpu_;
};

/// On one GPU, or on several of a kind.
class CudaSgdJob final : public SgdJob {
 public:
  CudaSgdJob(const CudaSgd& sgd, const std::vector<int>& devices, Offset memory)
      : sgd_(sgd), name_(name_of(devices)), use_{devices, {}, memory} {}
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
  CudaTopKJob(const CudaTopK& top_k, int device, const GpuInfo& gpu, Offset memory)
      : top_k_(top_k),
        use_{{device}, {}, memory},
        memory_(memory > 0 ? memory : gpu.memory / 10 * 9) {}
  [[nodiscard]] std::unique_ptr<Scorer> make_scorer(const MatrixView& items,
                                                    std::span<const float> item_bias,
                                                    ScoreKind score) const override {
    return top_k_.make_scorer(use_, items, item_bias, score);
  }
  [[nodiscard]] bool keeps(Index items, Index columns) const override {
    try {
      return plan_gpu_top_k(items, columns, kBatchQueries, memory_).pieces == 1;
    } catch (const Error&) {  // hardly anything fits: a scorer says so with the memory that is free
      return false;
    }
  }

 private:
  const CudaTopK& top_k_;
  GpuUse use_;
  Offset memory_;  ///< that may be there
};

class CudaPredictionJob final : public PredictionJob {
 public:
  CudaPredictionJob(const CudaPredictions& predictions, int device, const GpuInfo& gpu,
                    Offset memory)
      : predictions_(predictions), use_{{device}, {}, memory}, gpu_(gpu) {}
  [[nodiscard]] std::unique_ptr<Predictions> by_factors(const Factors& factors) const override {
    return predictions_.by_factors(use_, factors);
  }
  [[nodiscard]] std::unique_ptr<Predictions> by_knn(const KnnModel& model) const override {
    return predictions_.by_knn(use_, gpu_, model);
  }

 private:
  const CudaPredictions& predictions_;
  GpuUse use_;
  GpuInfo gpu_;
};

void require_library(const std::string& problem) {
  if (!problem.empty()) throw Error(ErrorKind::kDevice, problem);
}

class CudaEaseJob final : public EaseJob {
 public:
  CudaEaseJob(const CudaEase& ease, int device, Offset memory)
      : ease_(ease), name_(name_of(device)), use_{{device}, {}, memory} {}
  [[nodiscard]] MemoryPlan plan(const EaseShape& shape) const override {
    if (shape.candidates == 0) require_library(ease_.problem());
    MemoryPlan plan = ease_.plan(use_, shape);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.placement),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] Matrix dense_weights(const CsrView& by_user, const EaseSystem& system,
                                     const RunControl& control) const override {
    return ease_.dense_weights(use_, by_user, system, control);
  }
  [[nodiscard]] KnnLists local_weights(const CsrView& by_user, const EaseSystem& system,
                                       const KnnLists& candidates,
                                       const RunControl& control) const override {
    return ease_.local_weights(use_, by_user, system, candidates, control);
  }
  [[nodiscard]] std::unique_ptr<WeightLists> make_lists(const MatrixView& weights,
                                                        Offset /*entries*/) const override {
    return ease_.make_lists(use_, weights);
  }

 private:
  const CudaEase& ease_;
  std::string name_;
  GpuUse use_;
};

class CudaSpectralJob final : public SpectralJob {
 public:
  CudaSpectralJob(const CudaSpectral& spectral, int device, Offset memory)
      : spectral_(spectral), name_(name_of(device)), use_{{device}, {}, memory} {}
  [[nodiscard]] MemoryPlan plan(const SpectralShape& shape) const override {
    require_library(spectral_.problem());
    MemoryPlan plan = spectral_.plan(use_, shape);
    check_memory_plan(fmt::format("training on {}, {}", name_, plan.placement),
                      static_cast<double>(plan.machine));
    return plan;
  }
  [[nodiscard]] SpectralFactors decompose(const CsrView& by_user, int factors, std::uint64_t seed,
                                          const RunControl& control) const override {
    return spectral_.decompose(use_, by_user, factors, seed, control);
  }
  [[nodiscard]] Matrix users(const CsrView& by_user, std::span<const double> scale,
                             const Matrix& items) const override {
    return spectral_.users(use_, by_user, scale, items);
  }

 private:
  const CudaSpectral& spectral_;
  std::string name_;
  GpuUse use_;
};

}  // namespace

std::shared_ptr<const AlsJob> make_cuda_als_job(const CudaPlugin& plugin, const FoundGpus& found,
                                                const std::vector<int>& devices, Offset memory) {
  const GpuInfo& gpu = found.gpus[static_cast<std::size_t>(devices.front())];
  return std::make_shared<CudaAlsJob>(plugin, devices, gpu, found.driver, memory);
}

std::shared_ptr<const SgdJob> make_cuda_sgd_job(const CudaPlugin& plugin,
                                                const std::vector<int>& devices, Offset memory) {
  return std::make_shared<CudaSgdJob>(*plugin.sgd, devices, memory);
}

namespace {

/// GPU number `device`, which can be used.
[[nodiscard]] Device make_cuda_device(const CudaPlugin& plugin, const FoundGpus& found, int device,
                                      const DeviceOptions& options) {
  chosen_target();
  const GpuInfo& gpu = found.gpus[static_cast<std::size_t>(device)];
  JobTable table;
  std::apply([](auto&... offers) { ((offers.reason = kNotOnGpus), ...); }, table);
  if (plugin.als != nullptr) {
    std::get<Offer<AlsJob>>(table) = {
        make_cuda_als_job(plugin, found, {device}, options.device_memory)};
  }
  if (plugin.neighbours != nullptr) {
    std::get<Offer<KnnJob>>(table) = {
        std::make_shared<CudaKnnJob>(*plugin.neighbours, device, gpu)};
  }
  if (plugin.sgd != nullptr) {
    std::get<Offer<SgdJob>>(table) = {make_cuda_sgd_job(plugin, {device}, options.device_memory)};
  }
  if (plugin.bpr != nullptr) {
    std::get<Offer<BprJob>>(table) = {
        std::make_shared<CudaBprJob>(*plugin.bpr, device, options.device_memory)};
  }
  if (plugin.top_k != nullptr) {
    std::get<Offer<TopKJob>>(table) = {
        std::make_shared<CudaTopKJob>(*plugin.top_k, device, gpu, options.device_memory)};
  }
  if (plugin.predictions != nullptr) {
    std::get<Offer<PredictionJob>>(table) = {std::make_shared<CudaPredictionJob>(
        *plugin.predictions, device, gpu, options.device_memory)};
  }
  if (plugin.ease != nullptr) {
    std::get<Offer<EaseJob>>(table) = {
        std::make_shared<CudaEaseJob>(*plugin.ease, device, options.device_memory)};
  }
  if (plugin.spectral != nullptr) {
    std::get<Offer<SpectralJob>>(table) = {
        std::make_shared<CudaSpectralJob>(*plugin.spectral, device, options.device_memory)};
  }
  return make_device(
      name_of(device), [text = describe(gpu)] { return text; }, std::move(table));
}

[[noreturn]] void refuse(std::string_view device, const std::string& reason) {
  throw Error(ErrorKind::kDevice, fmt::format("device {}: {}", device, reason));
}

/// What can be opened.
struct Machine {
  const CudaPlugin& plugin;
  FoundGpus found;

  [[nodiscard]] const GpuInfo& gpu(int device) const {
    return found.gpus[static_cast<std::size_t>(device)];
  }
  [[nodiscard]] std::vector<int> usable() const {
    std::vector<int> devices;
    for (std::size_t d = 0; d < found.gpus.size(); ++d) {
      if (is_usable(found.gpus[d])) devices.push_back(static_cast<int>(d));
    }
    return devices;
  }
  [[nodiscard]] Device open(int device, const DeviceOptions& options) const {
    return make_cuda_device(plugin, found, device, options);
  }
  [[nodiscard]] RankDevices open(const std::vector<int>& devices,
                                 const DeviceOptions& options) const {
    RankDevices ranks;
    for (const int device : devices) ranks.devices.push_back(open(device, options));
    return ranks;
  }
  /// Whether each reaches the memory of all others directly.
  [[nodiscard]] bool are_linked(const std::vector<int>& devices) const {
    return std::ranges::all_of(devices, [&](int device) {
      const std::vector<int> peers = plugin.peers_of(device);
      return std::ranges::all_of(devices, [&](int other) {
        return other == device || std::ranges::find(peers, other) != peers.end();
      });
    });
  }
  /// Why these GPUs are not of one kind; empty where they are.
  [[nodiscard]] std::string difference(const std::vector<int>& devices) const {
    const int first = devices.front();
    for (const int device : devices) {
      if (same_kind(gpu(first), gpu(device))) continue;
      return fmt::format("it takes GPUs of one kind, and {} is {}, {} {}", name_of(first),
                         kind_text(gpu(first)), name_of(device), kind_text(gpu(device)));
    }
    return {};
  }
};

[[nodiscard]] Machine find_machine(std::string_view device) {
  const CudaPlugin& plugin = load_cuda_plugin();
  Machine machine{plugin, plugin.find_gpus()};
  if (machine.found.gpus.empty()) refuse(device, machine.found.problem);
  return machine;
}

/// Throws for a GPU that is not there or cannot be used.
void require_usable(std::string_view device, const std::vector<int>& wanted,
                    const Machine& machine) {
  const std::size_t count = machine.found.gpus.size();
  for (const int one : wanted) {
    if (static_cast<std::size_t>(one) >= count) {
      refuse(device, fmt::format("there is no GPU {}: this machine has {} GPU{}, numbered from 0; "
                                 "`likewise info` lists them",
                                 one, count, count == 1 ? "" : "s"));
    }
    if (!is_usable(machine.gpu(one))) {
      refuse(device, fmt::format("{}{}", wanted.size() == 1 ? "" : name_of(one) + ": ",
                                 describe(machine.gpu(one))));
    }
  }
}

/// "2 GPUs: each ..." or what each of them is.
[[nodiscard]] std::string describe(const Machine& machine, const std::vector<int>& devices) {
  if (machine.difference(devices).empty()) {
    return fmt::format("{} GPUs, each {}", devices.size(), describe(machine.gpu(devices.front())));
  }
  std::vector<std::string> each;
  for (const int device : devices) {
    each.push_back(fmt::format("{} {}", name_of(device), describe(machine.gpu(device))));
  }
  return fmt::format("{} GPUs: {}", devices.size(), fmt::join(each, "; "));
}

[[nodiscard]] Device open_several(const Machine& machine, const std::vector<int>& devices,
                                  const DeviceOptions& options) {
  if (devices.size() == 1) return machine.open(devices.front(), options);
  const CudaPlugin& plugin = machine.plugin;
  const std::string unlike = machine.difference(devices);
  SharedTraining training;
  training.als.reason = training.sgd.reason = unlike.empty() ? kNotOnGpus : unlike;
  if (unlike.empty() && plugin.als != nullptr) {
    training.als = {make_cuda_als_job(plugin, machine.found, devices, options.device_memory)};
  }
  if (unlike.empty() && plugin.sgd != nullptr) {
    training.sgd = {make_cuda_sgd_job(plugin, devices, options.device_memory)};
  }
  training.one_alone = fmt::format(
      "it runs on one GPU, as {}; several do als, sgd, neighbours, top-k and predictions together",
      name_of(devices.front()));
  return make_ranked_device(
      name_of(devices), [text = describe(machine, devices)] { return text; },
      machine.open(devices, options), unlike, training);
}

[[nodiscard]] Offer<KnnJob> auto_neighbours(const Machine& machine, const std::vector<int>& devices,
                                            const DeviceOptions& options) {
  const GpuInfo& gpu = machine.gpu(devices.front());
  return {std::make_shared<RankedKnnJob>(
              machine.open(devices, options),
              [gpu](const SimilarityProblem& problem, Index k, int gpus) {
                return several_gpus_pay(seconds_of_search(problem, k, gpu), gpus);
              }),
          several_gpus_rule(static_cast<int>(devices.size())), name_of(devices)};
}

/// `on`: the job on some of them.
template <class TrainingJob, class On>
[[nodiscard]] Offer<TrainingJob> auto_training(const Machine& machine,
                                               const std::vector<int>& devices, const On& on) {
  const auto count = static_cast<int>(devices.size());
  return {make_auto_job(TrainingGpus<TrainingJob>{on(std::vector<int>{devices.front()}),
                                                  on(devices), count, machine.gpu(devices.front()),
                                                  machine.are_linked(devices)}),
          train_together_rule(count), name_of(devices)};
}

/// The job of the GPU, or of the processor where that will do.
template <class TrainingJob>
void also_on_cpu(Device::Jobs& jobs, const Device& cpu) {
  Offer<TrainingJob>& offer = std::get<Offer<TrainingJob>>(jobs.table);
  if (offer.job == nullptr) return;
  const Offer<TrainingJob>& other = std::get<Offer<TrainingJob>>(cpu.jobs().table);
  offer = {make_gpu_or_cpu(GpuAndCpu<TrainingJob>{offer.job, other.job}), kGpuOrCpuRule,
           fmt::format("{} or {}", jobs.name, cpu.name())};
}

/// For `cuda` without a number: the first that can be used; why not, where none can.
[[nodiscard]] int first_usable(std::string_view device, const Machine& machine) {
  const std::vector<int> usable = machine.usable();
  if (usable.empty()) refuse(device, describe(machine.gpu(0)));
  return usable.front();
}

}  // namespace

Device open_cuda(std::string_view device, const std::vector<int>& wanted,
                 const DeviceOptions& options) {
  const Machine machine = find_machine(device);
  if (wanted.empty()) return machine.open(first_usable(device, machine), options);
  require_usable(device, wanted, machine);
  return open_several(machine, wanted, options);
}

Device open_all_cuda(std::string_view device, const DeviceOptions& options) {
  const Machine machine = find_machine(device);
  (void)first_usable(device, machine);
  return open_several(machine, machine.usable(), options);
}

Device open_cuda_to_train(bool gains, const Device& cpu, const DeviceOptions& options) {
  const Machine machine = find_machine("cuda");
  const int first = first_usable("cuda", machine);
  std::vector<int> alike = machine.usable();
  std::erase_if(alike,
                [&](int device) { return !same_kind(machine.gpu(first), machine.gpu(device)); });
  Device::Jobs jobs = machine.open(first, options).jobs();
  also_on_cpu<EaseJob>(jobs, cpu);
  also_on_cpu<SpectralJob>(jobs, cpu);
  const bool several = alike.size() > 1;
  if (several && machine.plugin.neighbours != nullptr) {
    std::get<Offer<KnnJob>>(jobs.table) = auto_neighbours(machine, alike, options);
  }
  if (several && machine.plugin.als != nullptr && gains) {
    std::get<Offer<AlsJob>>(jobs.table) =
        auto_training<AlsJob>(machine, alike, [&](const std::vector<int>& some) {
          return make_cuda_als_job(machine.plugin, machine.found, some, options.device_memory);
        });
  }
  if (several && machine.plugin.sgd != nullptr && gains) {
    std::get<Offer<SgdJob>>(jobs.table) =
        auto_training<SgdJob>(machine, alike, [&](const std::vector<int>& some) {
          return make_cuda_sgd_job(machine.plugin, some, options.device_memory);
        });
  }
  return Device(std::make_shared<const Device::Jobs>(std::move(jobs)));
}

std::vector<DeviceStatus> cuda_statuses() {
  try {
    const CudaPlugin& plugin = load_cuda_plugin();
    const FoundGpus found = plugin.find_gpus();
    if (found.gpus.empty()) return {{"cuda", false, found.problem, {}, {}, {}}};
    std::vector<DeviceStatus> lines;
    for (const GpuInfo& gpu : found.gpus) {
      const int device = static_cast<int>(lines.size());
      if (is_usable(gpu)) {
        lines.push_back(status_of(make_cuda_device(plugin, found, device, {})));
        for (const int peer : plugin.peers_of(device)) lines.back().peers.push_back(name_of(peer));
      } else {
        lines.push_back({name_of(device), false, describe(gpu), {}, {}, {}});
      }
    }
    return lines;
  } catch (const std::exception& error) {
    return {{"cuda", false, error.what(), {}, {}, {}}};
  }
}

}  // namespace likewise
