// SPDX-License-Identifier: Apache-2.0
/// The plug-in's entry point: src/backends/cuda/host/plugin.h says what the program may expect of
/// it.
#include "backends/cuda/host/plugin.h"

#include <chrono>

#include "backends/cuda/als/als_variants.h"
#include "backends/cuda/als/ranked_als.h"
#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/device/gpu_peers.h"
#include "backends/cuda/device/gpus.h"
#include "backends/cuda/distributed/nccl_library.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/linalg/cublas.h"
#include "backends/cuda/sgd/ranked_sgd.h"
#include "likewise/version.h"

namespace likewise {
namespace {

std::vector<AlsTuning> als_variants(const GpuInfo& gpu, const AlsWork& work) {
  return cuda::als_variants(work, static_cast<int>(gpu.specs.shared_memory_of_block),
                            cuda::has_sm_90a(gpu.major, gpu.minor));
}

double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

constexpr CudaAls kAls{als_variants,       plan_cuda_als, make_cuda_als_solver,
                       make_cuda_als_rank, now,           cuda::als_traffic};
constexpr CudaKnn kKnn{make_cuda_knn_search};
constexpr CudaSgd kSgd{plan_cuda_sgd, make_cuda_sgd_solver, cuda::sgd_traffic};
constexpr CudaBpr kBpr{plan_cuda_bpr, make_cuda_bpr_solver};
constexpr CudaTopK kTopK{make_cuda_scorer};
constexpr CudaPredictions kPredictions{make_cuda_predictions, make_cuda_predictions};
constexpr CudaEase kEase{cuda::cublas_problem, plan_cuda_ease, cuda_ease_weights, cuda_local_ease,
                         make_cuda_weight_lists};
constexpr CudaSpectral kSpectral{cuda_spectral_problem, plan_cuda_spectral, cuda_spectral_factors,
                                 cuda_spectral_users};
constexpr CudaPlugin kPlugin{kPluginInterface,
                             kVersion,
                             kPluginCompiler,
                             cuda::find_gpus,
                             cuda::peers_of,
                             cuda::connection_problem,
                             cuda::connection,
                             &kAls,
                             &kKnn,
                             &kSgd,
                             &kBpr,
                             &kTopK,
                             &kPredictions,
                             &kEase,
                             &kSpectral};

}  // namespace
}  // namespace likewise

const likewise::CudaPlugin* likewise_cuda_plugin() { return &likewise::kPlugin; }
