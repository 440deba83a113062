// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/als/wide/lockstep.cuh"

namespace likewise::cuda {
namespace {

/// Of a table: less than half of an H200's cache, whose halves both keep what both read.
constexpr Offset kChunkBytes = Offset{24} << 20;
constexpr int kThreads = 256;

[[nodiscard]] Index chunk_rows(Offset row_bytes) {
  return static_cast<Index>(std::max(Offset{1}, kChunkBytes / row_bytes));
}

/// The first `count` rows from `first` on.
[[nodiscard]] LockstepBatch batch_of(const RowProblem& problem, LockstepPlan& plan, int first) {
  LockstepBatch batch;
  batch.rows = plan.rows.data() + first;
  batch.count = std::min(plan.batch, plan.count - first);
  batch.chunks = plan.chunks;
  batch.bounds = plan.bounds.data() + Offset{first} * (plan.chunks + 1);
  batch.kept = plan.kept.data();
  batch.parts = problem.piece_sums;
  batch.residuals = batch.parts + Offset{plan.batch} * plan.chunks * problem.padded;
  batch.directions = batch.residuals + Offset{plan.batch} * problem.padded;
  batch.totals = problem.piece_constants;
  batch.left = plan.left.data();
  if (first > 0) return batch;
  batch.dense = plan.dense;
  batch.dense.parts = batch.directions + Offset{plan.batch} * problem.padded;
  batch.dense.totals = batch.totals + plan.batch * lockstep_doubles(plan.chunks);
  batch.dense.list = plan.dense_list.data();
  return batch;
}

template <class Stored, int kSlices>
void take_steps(Precision precision, const RowProblem& problem, LockstepPlan& plan, int first,
                cudaStream_t stream) {
  LockstepBatch batch = batch_of(problem, plan, first);
  int* const left = plan.host_left.data();
  left[0] = 1;
  left[1] = batch.dense.rows;
  for (int step = -1; step < problem.limits.steps && left[0] > 0; ++step) {
    set_count(batch.dense, left[1]);
    fill_zero(plan.left.data(), 2, stream);
    multiply_dense_rows(precision, problem, batch, step, stream);
    lockstep_multiply_kernel<Stored, kSlices>
        <<<batch.count * batch.chunks, kProductThreads, 0, stream>>>(problem, batch, step);
    lockstep_step_kernel<Stored, kSlices>
        <<<batch.count, kProductThreads, 0, stream>>>(problem, batch, step);
    LIKEWISE_CUDA_CHECK_LAUNCH();
    copy_to_host(left, plan.left.data(), 2, stream);
    LIKEWISE_CUDA_CHECK(cudaStreamSynchronize(stream));
  }
}

template <class Stored>
void solve_width(Precision precision, const RowProblem& problem, LockstepPlan& plan,
                 cudaStream_t stream) {
  for (int first = 0; first < plan.count; first += plan.batch) {
    for_slices(problem.padded, [&](auto slices) {
      take_steps<Stored, slices.value>(precision, problem, plan, first, stream);
    });
  }
}

}  // namespace

int table_chunks(Offset row_bytes, Index rows) {
  const Index each = chunk_rows(row_bytes);
  return static_cast<int>((Offset{rows} + each - 1) / each);
}

LockstepPlan plan_lockstep(const std::vector<RowTask>& rows, const RowEntry* entries,
                           Index fixed_rows, Offset row_bytes, int batch,
                           const DenseProducts& dense, cudaStream_t stream) {
  LockstepPlan plan;
  plan.count = static_cast<int>(rows.size());
  if (rows.empty()) return plan;
  plan.batch = std::min(batch, plan.count);
  plan.chunks = table_chunks(row_bytes, fixed_rows);
  plan.rows = to_device(rows, stream);
  plan.bounds = DeviceArray<Offset>(Offset{plan.count} * (plan.chunks + 1));
  plan.kept = DeviceArray<LockstepRow>(plan.batch);
  plan.left = DeviceArray<int>(2);
  plan.host_left = PinnedArray<int>(2);
  plan.dense = dense;
  plan.dense.rows = std::min(dense.rows, plan.batch);
  plan.dense_list = DeviceArray<int>(plan.dense.rows);
  const auto blocks = static_cast<unsigned>((plan.bounds.size() + kThreads - 1) / kThreads);
  find_bounds_kernel<<<blocks, kThreads, 0, stream>>>(entries, plan.rows.data(), plan.count,
                                                      plan.chunks, chunk_rows(row_bytes),
                                                      plan.bounds.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  return plan;
}

void solve_lockstep(Precision precision, const RowProblem& problem, LockstepPlan& plan,
                    cudaStream_t stream) {
  if (precision == Precision::kFp16) {
    solve_width<StoredHalf>(precision, problem, plan, stream);
  } else if (precision == Precision::kBf16) {
    solve_width<StoredBfloat>(precision, problem, plan, stream);
  } else {
    solve_width<StoredFloat>(precision, problem, plan, stream);
  }
}

}  // namespace likewise::cuda
