// SPDX-License-Identifier: Apache-2.0
/// A plug-in without CUDA, for tests of what the program makes of one. FAKE_PLUGIN says what is
/// wrong with it; without it, three GPUs are there, of which the second can be used, and training
/// and predictions are the CPU's. Its tunings take different times. FAKE_PLUGIN_LOG names a file to
/// which every training adds a line with its tuning.
/// FAKE_PLUGIN "several": the GPUs 1, 3 and 4 are of one kind and 5 of another, lists are made and
/// SGD trains;
/// "several slow": searches on them are expected to take long. FAKE_PLUGIN_USED names a file to
/// which everything that is made for a job adds a line with the job and its GPUs.
/// "twins": as "several", and the GPUs 1 and 4 are one.
/// FAKE_PLUGIN_ALONE: GPUs of processes cannot be connected. FAKE_PLUGIN_NCCL names the library
/// that connects them. FAKE_PLUGIN_LOST=N: the last GPU of a training is lost in its half-step or
/// epoch number N.
#include "backends/cuda/host/plugin.h"

#include <algorithm>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <mutex>
#include <stdexcept>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "backends/cpu/als/als_rank.h"
#include "backends/cpu/jobs.h"
#include "backends/cuda/host/gpu_plan.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "likewise/version.h"

namespace likewise {
namespace {

[[nodiscard]] bool fault_is(std::string_view fault) {
  const char* wanted = std::getenv("FAKE_PLUGIN");
  return wanted != nullptr && wanted == fault;
}

[[nodiscard]] bool are_several() {
  return fault_is("several") || fault_is("several slow") || fault_is("twins");
}

/// Throws where one of them cannot be used.
void use(const char* job, const std::vector<int>& devices) {
  for (const int device : devices) {
    const bool usable = device == 1 || (are_several() && device >= 3 && device <= 5);
    if (!usable) throw std::logic_error("the wrong GPU was asked");
  }
  const char* path = std::getenv("FAKE_PLUGIN_USED");
  if (path == nullptr) return;
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  std::ofstream(path, std::ios::app) << fmt::format("{} {}\n", job, fmt::join(devices, ","));
}

/// GPU 1 reaches 3, and 3 reaches 1 and 4.
std::vector<int> peers_of(int device) {
  if (!are_several()) return {};
  if (device == 1) return {3};
  if (device == 3) return {1, 4};
  return {};
}

std::string connection_problem() {
  return std::getenv("FAKE_PLUGIN_ALONE") == nullptr ? "" : "the link is down";
}

std::string connection() {
  const char* library = std::getenv("FAKE_PLUGIN_NCCL");
  return library == nullptr ? "NCCL 2.28.9" : library;
}

FoundGpus find_gpus() {
  if (fault_is("search")) throw std::runtime_error("the GPUs are on fire");
  if (fault_is("no GPU")) return {{}, 0, "there is no GPU in this test"};
  const GpuInfo old{"Old GPU", 7, 5, Offset{8} << 30, {}, {}};
  const GpuSpecs specs{132, 1.98e9, 4.9e12, 60 << 20, 228 << 10, 227 << 10};
  const GpuInfo fine{"Fine GPU", 9, 0, Offset{140} << 30, {}, specs};
  const GpuInfo closed{"Closed GPU", 9, 0, Offset{80} << 30, "closed to programs", {}};
  if (fault_is("none usable")) return {{old, closed}, 13000, {}};
  if (!are_several()) return {{old, fine, closed}, 13000, {}};
  GpuInfo alike = fine;
  if (fault_is("several slow")) alike.specs.clock = alike.specs.bandwidth = 1.0;
  GpuInfo another = alike;
  another.name = "Other GPU";
  FoundGpus found{{old, alike, closed, alike, alike, another}, 13000, {}};
  for (std::size_t gpu = 0; gpu < found.gpus.size(); ++gpu) {
    const bool twin = fault_is("twins") && gpu == 4;
    found.gpus[gpu].uuid = fmt::format("GPU-{}", twin ? 1 : gpu);
  }
  return found;
}

/// Fails in the second half-step, with an exception made in the plug-in.
class FailingSolver final : public AlsSolver {
 public:
  explicit FailingSolver(std::unique_ptr<AlsSolver> cpu) : cpu_(std::move(cpu)) {}
  double solve(Side side, const RunControl& control) override {
    if (side == Side::kItems) throw Error(ErrorKind::kNumerical, "a pivot fell over");
    return cpu_->solve(side, control);
  }
  const Factors& factors() override { return cpu_->factors(); }
  Factors take_factors() override { return cpu_->take_factors(); }

 private:
  std::unique_ptr<AlsSolver> cpu_;
};

/// Counts what a training does, until its last GPU is lost.
class LifeOfGpu {
 public:
  explicit LifeOfGpu(const GpuUse& use) : gpu_(use.devices.back()) {
    if (const char* last = std::getenv("FAKE_PLUGIN_LOST")) left_ = std::atoi(last);
  }
  void live() {
    if (left_-- != 1) return;
    throw Error(ErrorKind::kDevice, fmt::format("cuda:{}: the GPU fell off the bus", gpu_));
  }

 private:
  int gpu_;
  int left_ = 0;
};

std::vector<AlsTuning> als_variants(const GpuInfo&, const AlsWork& work) {
  const int columns = (work.width + 15) / 16 * 16;
  std::vector<AlsTuning> all;
  for (const int more : {0, 16}) {
    for (const auto& [short_rows, one_warp] : {std::pair(0, 0), {64, 64}, {128, 48}, {128, 128}}) {
      for (const int piece : {4096, 1024}) {
        all.push_back({columns + more, short_rows, one_warp, piece});
      }
    }
  }
  return all;
}

/// What solvers are timed by: it goes on by what they say they take.
double fake_clock = 0.0;
double fake_now() { return fake_clock; }

/// Takes a millisecond a half-step with the best tuning, twice as long for each thing that is
/// not the best.
class TunedSolver final : public AlsSolver {
 public:
  TunedSolver(std::unique_ptr<AlsSolver> cpu, const AlsWork& work, const GpuUse& use)
      : cpu_(std::move(cpu)), life_(use), seconds_(0.001) {
    const AlsTuning& tuning = use.tuning;
    if (tuning.columns < work.width + 16) seconds_ *= 2;
    if (tuning.short_rows != 128 || tuning.one_warp != 48) seconds_ *= 2;
    if (tuning.piece != 1024) seconds_ *= 2;
  }
  double solve(Side side, const RunControl& control) override {
    life_.live();
    fake_clock += seconds_;
    return cpu_->solve(side, control);
  }
  const Factors& factors() override { return cpu_->factors(); }
  Factors take_factors() override { return cpu_->take_factors(); }

 private:
  std::unique_ptr<AlsSolver> cpu_;
  LifeOfGpu life_;
  double seconds_;
};

void log_tuning(const AlsTuning& tuning) {
  const char* path = std::getenv("FAKE_PLUGIN_LOG");
  if (path == nullptr) return;
  std::ofstream(path, std::ios::app) << tuning_text(tuning) << '\n';
}

/// A GPU of 1 GiB.
MemoryPlan plan_als(const GpuUse& use, const AlsShape& shape, const AlsParams& params) {
  GpuAlsNeeds needs;
  needs.shape = shape;
  needs.columns = (params.factors + 15) / 16 * 16;
  needs.piece_bytes = 4096;
  return plan_gpu_als(needs, use.memory > 0 ? use.memory : Offset{1} << 30).memory;
}

std::unique_ptr<AlsSolver> make_als_solver(const GpuUse& use, const CsrView& by_user,
                                           const AlsParams& params, Factors start,
                                           int completed_iterations) {
  likewise::use("als", use.devices);
  if (fault_is("refusal")) throw Error(ErrorKind::kInvalidArgument, "factors: not in this test");
  log_tuning(use.tuning);
  auto cpu = make_cpu_als_solver(by_user, params, std::move(start), completed_iterations);
  if (fault_is("training")) return std::make_unique<FailingSolver>(std::move(cpu));
  return std::make_unique<TunedSolver>(std::move(cpu), als_work(params), use);
}

/// The CPU's.
class FakeAlsRank final : public AlsRank {
 public:
  FakeAlsRank(std::unique_ptr<AlsRank> cpu, const GpuUse& use) : cpu_(std::move(cpu)), life_(use) {}
  double solve(Communicator& ranks, Side side, const RunControl& control) override {
    if (ranks.rank() == ranks.size() - 1) life_.live();
    return cpu_->solve(ranks, side, control);
  }
  const Factors& factors() override { return cpu_->factors(); }

 private:
  std::unique_ptr<AlsRank> cpu_;
  LifeOfGpu life_;
};

std::unique_ptr<AlsRank> make_als_rank(const GpuUse& use, Communicator& ranks,
                                       const AlsRankJob& job, AlsRankPart part) {
  likewise::use("rank", use.devices);
  log_tuning(use.tuning);
  job.remarks.push_back(fmt::format("by {}", connection()));
  return std::make_unique<FakeAlsRank>(
      std::make_unique<CpuAlsRank>(ranks, job.plan, job.params, std::move(part),
                                   job.completed_iterations),
      use);
}

MemoryPlan plan_sgd(const GpuUse&, const SgdShape&, const SgdParams&) { return {}; }

class FakeSgdSolver final : public SgdSolver {
 public:
  FakeSgdSolver(std::unique_ptr<SgdSolver> cpu, const GpuUse& use)
      : cpu_(std::move(cpu)), life_(use) {}
  double epoch(int number, double learning_rate, const RunControl& control) override {
    life_.live();
    return cpu_->epoch(number, learning_rate, control);
  }
  const Factors& factors() override { return cpu_->factors(); }
  Factors take_factors() override { return cpu_->take_factors(); }

 private:
  std::unique_ptr<SgdSolver> cpu_;
  LifeOfGpu life_;
};

/// Asked without ratings, it says whether it can.
std::unique_ptr<SgdSolver> make_sgd_solver(const GpuUse& use, const CsrView& by_user,
                                           const SgdParams& params, Factors start,
                                           const SgdWhole& whole) {
  if (by_user.nnz() > 0) likewise::use("sgd", use.devices);
  return std::make_unique<FakeSgdSolver>(
      make_cpu_sgd_solver(by_user, params, std::move(start), whole), use);
}

std::unique_ptr<KnnSearch> make_knn_search(int device, const GpuInfo&,
                                           const SimilarityProblem& problem) {
  use("neighbours", {device});
  return make_cpu_knn_search(problem);
}

/// The CPU's, in 2.5 MiB of a GPU's memory.
class FakePredictions final : public Predictions {
 public:
  explicit FakePredictions(std::unique_ptr<Predictions> cpu) : cpu_(std::move(cpu)) {}
  void of_pairs(std::span<const Index> rows, std::span<const Index> columns, float* out,
                const RunControl& control) const override {
    cpu_->of_pairs(rows, columns, out, control);
  }
  double of_rows(std::span<const Index> rows, float* out) const override {
    return cpu_->of_rows(rows, out);
  }
  [[nodiscard]] MemoryPlan memory() const override {
    MemoryPlan plan;
    plan.total = Offset{5} << 19;
    return plan;
  }

 private:
  std::unique_ptr<Predictions> cpu_;
};

std::unique_ptr<Predictions> predict_by_factors(const GpuUse& use, const Factors& factors) {
  likewise::use("predictions", use.devices);
  return std::make_unique<FakePredictions>(make_cpu_predictions(factors));
}

std::unique_ptr<Predictions> predict_by_knn(const GpuUse& use, const GpuInfo&,
                                            const KnnModel& model) {
  likewise::use("predictions", use.devices);
  return std::make_unique<FakePredictions>(make_cpu_predictions(model));
}

std::unique_ptr<Scorer> make_scorer(const GpuUse& use, const MatrixView& items,
                                    std::span<const float> bias, ScoreKind score) {
  likewise::use("top-k", use.devices);
  return make_cpu_scorer(items, bias, score);
}

}  // namespace
}  // namespace likewise

const likewise::CudaPlugin* likewise_cuda_plugin() {
  using namespace likewise;
  static constexpr CudaAls kAls{als_variants,  plan_als, make_als_solver,
                                make_als_rank, fake_now, nullptr};
  static constexpr CudaKnn kKnn{make_knn_search};
  static constexpr CudaPredictions kPredictions{predict_by_factors, predict_by_knn};
  static constexpr CudaTopK kTopK{make_scorer};
  static constexpr CudaSgd kSgd{plan_sgd, make_sgd_solver, nullptr};
  // One for every call: faults differ from test to test, and ranks that are threads call at once.
  static std::mutex mutex;
  static std::deque<CudaPlugin> plugins;
  const std::scoped_lock lock(mutex);
  CudaPlugin& plugin = plugins.emplace_back(CudaPlugin{
      kPluginInterface, kVersion, kPluginCompiler, find_gpus, peers_of, connection_problem,
      connection, &kAls, &kKnn, nullptr, nullptr, nullptr, &kPredictions, nullptr, nullptr});
  if (are_several()) {
    plugin.top_k = &kTopK;
    plugin.sgd = &kSgd;
  }
  if (fault_is("no als")) plugin.als = nullptr;
  if (fault_is("no neighbours")) plugin.neighbours = nullptr;
  if (fault_is("no predictions")) plugin.predictions = nullptr;
  if (fault_is("interface")) plugin.interface_number = kPluginInterface + 1;
  if (fault_is("version")) plugin.version = "0.0.9";
  if (fault_is("compiler")) plugin.compiler = "another compiler";
  return &plugin;
}
