// SPDX-License-Identifier: Apache-2.0
/// ALS on one GPU, and on several (ranked_als.cpp).
#include <algorithm>

#include "backends/cuda/als/als_empty.h"
#include "backends/cuda/als/als_resolve.h"
#include "backends/cuda/als/als_training.h"
#include "backends/cuda/als/ranked_als.h"
#include "backends/cuda/jobs.h"

namespace likewise {
namespace cuda {
namespace {

class CudaAlsSolver final : public AlsSolver {
 public:
  CudaAlsSolver(int device, const CsrView& by_user, const AlsSetup& setup, Factors start,
                int completed_iterations)
      : training_(device, {by_user, {}, nullptr}, setup, std::move(start), completed_iterations,
                  nullptr) {}

  double solve(Side side, const RunControl& control) override {
    return training_.solve(side, control);
  }
  const Factors& factors() override { return training_.factors(); }
  Factors take_factors() override { return training_.take_factors(); }

 private:
  AlsTraining training_;
};

/// Makes the GPU the current one.
[[nodiscard]] AlsSetup resolve(const GpuUse& use, const AlsShape& shape, const AlsParams& params) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  return resolve_als({shape, shape, 1}, params, use.tuning, available_bytes(use.memory));
}

}  // namespace
}  // namespace cuda

MemoryPlan plan_cuda_als(const GpuUse& use, const AlsShape& shape, const AlsParams& params) {
  cuda::refuse_als_params(params);
  if (shape.users == 0 || shape.items == 0) return {};
  if (use.devices.size() > 1) return cuda::plan_ranked_als(use, shape, params);
  return cuda::resolve(use, shape, params).plan.memory;
}

std::unique_ptr<AlsSolver> make_cuda_als_solver(const GpuUse& use, const CsrView& by_user,
                                                const AlsParams& params, Factors start,
                                                int completed_iterations) {
  cuda::refuse_als_params(params);
  if (by_user.rows == 0 || by_user.cols == 0) {
    return cuda::make_empty_als_solver(params, std::move(start));
  }
  if (use.devices.size() > 1) {
    return cuda::make_ranked_als_solver(use, by_user, params, std::move(start),
                                        completed_iterations);
  }
  const cuda::AlsSetup setup =
      cuda::resolve(use, {by_user.rows, by_user.cols, by_user.nnz()}, params);
  return std::make_unique<cuda::CudaAlsSolver>(use.devices.front(), by_user, setup,
                                               std::move(start), completed_iterations);
}

std::unique_ptr<AlsRank> make_cuda_als_rank(const GpuUse& use, Communicator& ranks,
                                            const AlsRankJob& job, AlsRankPart part) {
  cuda::refuse_als_params(job.params);
  return cuda::make_process_als_rank(use, ranks, job, std::move(part));
}

}  // namespace likewise
