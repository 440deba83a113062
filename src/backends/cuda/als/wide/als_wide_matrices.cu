// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/als/wide/cholesky.cuh"
#include "backends/cuda/als/wide/matrices.cuh"
#include "backends/cuda/als/wide/matrix_solve.cuh"
#include "backends/cuda/device/attributes.h"

namespace likewise::cuda {
namespace {

/// Groups of interactions in a stage: many, to meet at few barriers, or what fits every GPU.
constexpr int kManyGroups = 6;
constexpr int kFewGroups = 2;

template <class Format, int kGroups>
void launch(const RowProblem& problem, const RowTask* tasks, int count, const TileJob* jobs,
            int job_count, cudaStream_t stream) {
  constexpr int kBytes = TileKernel<Format, kGroups>::Ring::kBytes;
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(tile_kernel<Format, kGroups>,
                                           cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  tile_kernel<Format, kGroups>
      <<<count * job_count, kJobThreads, kBytes, stream>>>(problem, tasks, jobs, job_count);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <class Format>
void sum_tiles(const RowProblem& problem, const RowTask* tasks, int count, const TileJob* jobs,
               int job_count, cudaStream_t stream) {
  if (largest_shared_memory() >= TileKernel<Format, kManyGroups>::Ring::kBytes) {
    launch<Format, kManyGroups>(problem, tasks, count, jobs, job_count, stream);
  } else {
    launch<Format, kFewGroups>(problem, tasks, count, jobs, job_count, stream);
  }
}

}  // namespace

void sum_matrices(Precision precision, const RowProblem& problem, const RowTask* tasks, int count,
                  const TileJob* jobs, int job_count, cudaStream_t stream) {
  const auto run = precision == Precision::kFp16   ? sum_tiles<HalfFormat>
                   : precision == Precision::kBf16 ? sum_tiles<BfloatFormat>
                   : precision == Precision::kTf32 ? sum_tiles<Tf32Format>
                                                   : sum_tiles<FloatFormat>;
  run(problem, tasks, count, jobs, job_count, stream);
}

void add_pieces(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>(slot_floats(problem.padded) / (4 * kPieceThreads));
  add_pieces_kernel<<<dim3(static_cast<unsigned>(count), blocks / 4), kPieceThreads, 0, stream>>>(
      problem, tasks);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void solve_by_matrices(const RowProblem& problem, const RowTask* tasks, int count,
                       cudaStream_t stream) {
  RowProblem rest = problem;
  if (problem.exact) {
    wide_cholesky_kernel<<<count, WideCholesky::kThreads, 0, stream>>>(problem, tasks);
    LIKEWISE_CUDA_CHECK_LAUNCH();
    // No steps: only the objectives of what was found.
    rest.warm = true;
    rest.limits.steps = 0;
  }
  for_slices(problem.padded, [&](auto slices) {
    matrix_solve_kernel<slices.value>
        <<<count, MatrixSolve<slices.value>::kThreads, 0, stream>>>(rest, tasks);
  });
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
