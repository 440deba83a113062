// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/als/wide/dense_rows.cuh"
#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/shared_memory.h"

namespace likewise::cuda {
namespace {

constexpr Offset kMostBytes = Offset{128} << 20;
/// Fewer rows leave most of a block's work undone.
constexpr int kLeastRows = 24;
/// A block brings this many factor rows at least.
constexpr Index kLeastPart = 1024;

template <class Stored, int kSlices>
void launch(const RowProblem& problem, const LockstepBatch& batch, int step, cudaStream_t stream) {
  if constexpr (kSlices * kSliceColumns <= kMostDenseColumns) {
    using Shape = DenseShape<kSlices>;
    const DenseProducts& dense = batch.dense;
    const auto kernel = problem.weights.explicit_feedback
                            ? dense_rows_kernel<Stored, kSlices, true>
                            : dense_rows_kernel<Stored, kSlices, false>;
    allow_shared_memory(kernel, Shape::kBytes);
    round_dense_kernel<Stored, kSlices><<<dense.count, 32, 0, stream>>>(problem, batch, step);
    kernel<<<dense.blocks() * dense.part_count, Shape::kThreads, Shape::kBytes, stream>>>(
        problem, batch, step);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  }
}

}  // namespace

bool has_dense_rows(Precision precision, int padded) {
  return stored_bytes(precision) == 2 && padded <= kMostDenseColumns &&
         has_sm_90a(device_attribute(cudaDevAttrComputeCapabilityMajor),
                    device_attribute(cudaDevAttrComputeCapabilityMinor));
}

Offset most_dense_bytes(Offset interactions) { return std::min(kMostBytes, 16 * interactions); }

DenseProducts plan_dense_rows(const std::vector<RowTask>& rows, Index fixed_rows, Offset least,
                              int padded, Offset most_bytes) {
  DenseProducts dense;
  dense.fixed_rows = fixed_rows;
  const Offset place_bytes = padded * Offset{sizeof(float)} + 2 * Offset{sizeof(double)};
  const Offset most = most_bytes / place_bytes;
  const auto count = static_cast<int>(std::min<Offset>(most, static_cast<Offset>(rows.size())));
  const auto longer = [&](const RowTask& row) { return row.count >= least; };
  dense.rows = static_cast<int>(std::partition_point(rows.begin(), rows.begin() + count, longer) -
                                rows.begin());
  if (dense.rows < kDenseRows) return DenseProducts{};
  dense.places =
      std::min(most, std::max<Offset>(dense.rows, Offset{4} * multiprocessor_count() * kDenseRows));
  return dense;
}

void set_count(DenseProducts& dense, int count) {
  dense.count = count < kLeastRows ? 0 : count;
  if (dense.count == 0) return;
  // As many parts as keep most of the multiprocessors busy to the end.
  const int multiprocessors = multiprocessor_count();
  const auto most = static_cast<int>(
      std::clamp<Offset>(dense.places / dense.count, 1, 1 + dense.fixed_rows / kLeastPart));
  double best = 0.0;
  for (int rounds = 1; rounds <= 4; ++rounds) {
    const int parts = std::clamp(rounds * multiprocessors / dense.blocks(), 1, most);
    const int blocks = parts * dense.blocks();
    const int taken = (blocks + multiprocessors - 1) / multiprocessors * multiprocessors;
    const double busy = static_cast<double>(blocks) / taken;
    if (busy <= best) continue;
    best = busy;
    dense.part_count = parts;
  }
  const Index each = (dense.fixed_rows + dense.part_count - 1) / dense.part_count;
  constexpr Index kStage = DenseShape<2>::kTile;  // of all
  dense.part_rows = (each + kStage - 1) / kStage * kStage;
  dense.part_count =
      static_cast<int>((Offset{dense.fixed_rows} + dense.part_rows - 1) / dense.part_rows);
}

void multiply_dense_rows(Precision precision, const RowProblem& problem, const LockstepBatch& batch,
                         int step, cudaStream_t stream) {
  if (batch.dense.count == 0) return;
  for_slices(problem.padded, [&](auto slices) {
    if (precision == Precision::kFp16) {
      launch<StoredHalf, slices.value>(problem, batch, step, stream);
    } else {
      launch<StoredBfloat, slices.value>(problem, batch, step, stream);
    }
  });
}

}  // namespace likewise::cuda
