// SPDX-License-Identifier: Apache-2.0
/// What the program and the CUDA plug-in (liblikewise_cuda.so) agree on. Both are built from one
/// source by one compiler, so that C++ types and exceptions may cross. Three lines tell whether
/// they were; they are read before anything else is touched.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

#include "backends/cuda/host/als_tuning.h"
#include "backends/jobs/als.h"
#include "backends/jobs/bpr.h"
#include "backends/jobs/ease.h"
#include "backends/jobs/knn.h"
#include "backends/jobs/predictions.h"
#include "backends/jobs/sgd.h"
#include "backends/jobs/spectral.h"
#include "backends/jobs/top_k.h"
#include "core/system/plugin_file.h"

namespace likewise {

/// Goes up with every change of this file and of the types that cross.
inline constexpr std::int32_t kPluginInterface = 18;

/// What says how fast a GPU is.
struct GpuSpecs {
  int multiprocessors = 0;
  double clock = 0.0;                 ///< of the multiprocessors, Hz
  double bandwidth = 0.0;             ///< of the memory, bytes a second
  Offset cache = 0;                   ///< L2, bytes
  Offset shared_memory = 0;           ///< of a multiprocessor, bytes
  Offset shared_memory_of_block = 0;  ///< most that a block may have
};

struct GpuInfo {
  std::string name;
  int major = 0;  ///< of the compute capability
  int minor = 0;
  Offset memory = 0;    ///< bytes
  std::string problem;  ///< what else keeps it from use; empty where nothing does
  GpuSpecs specs;
  std::string uuid{};  ///< no other GPU of any machine has it
};

/// Whether ranks on these GPUs may share a job: one tuning and one partition hold for both.
[[nodiscard]] inline bool same_kind(const GpuInfo& a, const GpuInfo& b) {
  return a.name == b.name && a.specs.multiprocessors == b.specs.multiprocessors;
}

struct FoundGpus {
  std::vector<GpuInfo> gpus;  ///< by device number
  int driver = 0;             ///< CUDA version that the driver supports, 1000 major + 10 minor
  std::string problem;        ///< why there are none, and what to do; empty where there are
};

/// The GPUs of a training, and how it uses them.
struct GpuUse {
  std::vector<int> devices;  ///< usable GPUs: one, or for ALS and SGD also several of one kind
  AlsTuning tuning;          ///< one of theirs
  Offset memory = 0;         ///< bytes that it may take of each; 0: what is free
};

/// What a GPU of several has received of the others' factors so far.
struct RankTraffic {
  Offset bytes = 0;
  double seconds = 0.0;  ///< from when the first of it could go until all of it was there
  double exposed = 0.0;  ///< of these, those in which the GPU had nothing else to do
};

/// The job `als`.
struct CudaAls {
  /// All tunings that this work may have on the GPU; at least one.
  std::vector<AlsTuning> (*variants)(const GpuInfo& gpu, const AlsWork& work);
  /// As AlsJob::plan.
  MemoryPlan (*plan)(const GpuUse& use, const AlsShape& shape, const AlsParams& params);
  /// As AlsJob::make_solver.
  std::unique_ptr<AlsSolver> (*make_solver)(const GpuUse& use, const CsrView& by_user,
                                            const AlsParams& params, Factors start,
                                            int completed_iterations);
  /// As AlsJob::make_rank, on one GPU. `job.params` are resolved, `use` is the same on all ranks
  /// but for the GPU.
  std::unique_ptr<AlsRank> (*make_rank)(const GpuUse& use, Communicator& ranks,
                                        const AlsRankJob& job, AlsRankPart part);
  /// As AlsTuner::now.
  double (*now)();
  /// Of the GPU that has received the most; null where `solver`, one of make_solver(), has one GPU.
  const RankTraffic* (*traffic)(const AlsSolver& solver);
};

/// The job `neighbours`.
struct CudaKnn {
  /// As KnnJob::make_search, on one usable GPU.
  std::unique_ptr<KnnSearch> (*make_search)(int device, const GpuInfo& gpu,
                                            const SimilarityProblem& problem);
};

/// The job `sgd`.
struct CudaSgd {
  /// As SgdJob::plan.
  MemoryPlan (*plan)(const GpuUse& use, const SgdShape& shape, const SgdParams& params);
  /// As SgdJob::make_solver.
  std::unique_ptr<SgdSolver> (*make_solver)(const GpuUse& use, const CsrView& by_user,
                                            const SgdParams& params, Factors start,
                                            const SgdWhole& whole);
  /// As CudaAls::traffic; of `blocked` the bytes only.
  const RankTraffic* (*traffic)(const SgdSolver& solver);
};

/// The job `bpr`, on one usable GPU.
struct CudaBpr {
  /// As BprJob::plan.
  MemoryPlan (*plan)(const GpuUse& use, const SgdShape& shape, const BprParams& params);
  /// As BprJob::make_solver.
  std::unique_ptr<BprSolver> (*make_solver)(const GpuUse& use, const CsrView& likes,
                                            const BprParams& params, Factors start,
                                            const BprWhole& whole);
};

/// The job `top-k`, on one usable GPU.
struct CudaTopK {
  /// As TopKJob::make_scorer.
  std::unique_ptr<Scorer> (*make_scorer)(const GpuUse& use, const MatrixView& items,
                                         std::span<const float> item_bias, ScoreKind score);
};

/// The job `predictions`, on one usable GPU.
struct CudaPredictions {
  /// As PredictionJob::by_factors.
  std::unique_ptr<Predictions> (*by_factors)(const GpuUse& use, const Factors& factors);
  /// As PredictionJob::by_knn.
  std::unique_ptr<Predictions> (*by_knn)(const GpuUse& use, const GpuInfo& gpu,
                                         const KnnModel& model);
};

/// The job `ease`, on one usable GPU.
struct CudaEase {
  /// Why dense weights cannot be learned, and what to do; empty where they can. Not asked before it
  /// is needed: the answer takes a fraction of a second.
  std::string (*problem)();
  /// As EaseJob::plan.
  MemoryPlan (*plan)(const GpuUse& use, const EaseShape& shape);
  /// As EaseJob::dense_weights.
  Matrix (*dense_weights)(const GpuUse& use, const CsrView& by_user, const EaseSystem& system,
                          const RunControl& control);
  /// As EaseJob::local_weights.
  KnnLists (*local_weights)(const GpuUse& use, const CsrView& by_user, const EaseSystem& system,
                            const KnnLists& candidates, const RunControl& control);
  /// As EaseJob::make_lists, never null.
  std::unique_ptr<WeightLists> (*make_lists)(const GpuUse& use, const MatrixView& weights);
};

/// The job `spectral`, on one usable GPU.
struct CudaSpectral {
  /// As CudaEase::problem.
  std::string (*problem)();
  /// As SpectralJob::plan.
  MemoryPlan (*plan)(const GpuUse& use, const SpectralShape& shape);
  /// As SpectralJob::decompose.
  SpectralFactors (*decompose)(const GpuUse& use, const CsrView& by_user, int factors,
                               std::uint64_t seed, const RunControl& control);
  /// As SpectralJob::users.
  Matrix (*users)(const GpuUse& use, const CsrView& by_user, std::span<const double> scale,
                  const Matrix& items);
};

struct CudaPlugin {
  // Plain numbers and text, readable whatever built the plug-in. These lines stay as they are.
  std::int32_t interface_number;
  const char* version;   ///< kVersion
  const char* compiler;  ///< kPluginCompiler

  // For a program of the same three only.
  FoundGpus (*find_gpus)();
  /// The GPUs whose memory GPU number `device` reads and writes directly, by number.
  std::vector<int> (*peers_of)(int device);
  /// Why GPUs of several processes cannot train together, and what to do; empty where they can.
  std::string (*connection_problem)();
  /// "NCCL 2.28.9". Throws Error(kDevice) where there is a connection_problem().
  std::string (*connection)();
  // A line for each job (src/backends/jobs/device_jobs.h) that the plug-in may do; null: it cannot.
  const CudaAls* als;
  const CudaKnn* neighbours;
  const CudaSgd* sgd;
  const CudaBpr* bpr;
  const CudaTopK* top_k;
  const CudaPredictions* predictions;
  const CudaEase* ease;
  const CudaSpectral* spectral;
};

}  // namespace likewise

/// The plug-in's only symbol. Lives as long as the process.
extern "C" const likewise::CudaPlugin* likewise_cuda_plugin();
