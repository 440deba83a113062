// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/als/wide/matrix_free.cuh"

namespace likewise::cuda {
namespace {

template <class Stored, int kSlices>
void launch(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream) {
  wide_product_kernel<Stored, kSlices><<<count, kProductThreads, 0, stream>>>(problem, tasks);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <class Stored>
void launch_width(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream) {
  for_slices(problem.padded,
             [&](auto slices) { launch<Stored, slices.value>(problem, tasks, count, stream); });
}

}  // namespace

void solve_matrix_free(Precision precision, const RowProblem& problem, const RowTask* tasks,
                       int count, cudaStream_t stream) {
  if (count == 0) return;
  if (precision == Precision::kFp16) {
    launch_width<StoredHalf>(problem, tasks, count, stream);
  } else if (precision == Precision::kBf16) {
    launch_width<StoredBfloat>(problem, tasks, count, stream);
  } else {
    launch_width<StoredFloat>(problem, tasks, count, stream);
  }
}

}  // namespace likewise::cuda
