// SPDX-License-Identifier: Apache-2.0
/// Long rows of tables that do not fit the GPU's L2 cache: all rows of a batch take a step of
/// conjugate gradients in lockstep, chunk after chunk of the table. What a chunk's interactions
/// read is then in the cache, however large the table is.
#pragma once

#include "backends/cuda/als/wide/dense_rows.h"
#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

/// What a row keeps from step to step beside its vectors.
struct LockstepRow {
  double constant;
  double won;
  float rho;
  float enough;
  bool positive;
  bool goes_on;
  bool last;  ///< RowState::last
  int place;  ///< in the list of dense rows
};

/// A batch of rows on the GPU.
struct LockstepBatch {
  const RowTask* rows;
  int count;
  int chunks;
  const Offset* bounds;
  LockstepRow* kept;
  float* parts;       ///< [row][chunk][padded] of the product
  float* residuals;   ///< [row][padded]
  float* directions;  ///< [row][padded]
  double* totals;     ///< [row][chunk][2]
  int* left;          ///< rows that go on, and dense ones of the next step
  DenseProducts dense;
};

/// Where among entries begin .. end - 1, by column, those of this column and of later ones begin.
[[nodiscard]] LIKEWISE_HOST_DEVICE Offset first_from(const RowEntry* entries, Offset begin,
                                                     Offset end, Offset column) {
  while (begin < end) {
    const Offset middle = begin + (end - begin) / 2;
    if (entries[middle].column < column) {
      begin = middle + 1;
    } else {
      end = middle;
    }
  }
  return begin;
}

/// Rows that are solved in lockstep.
struct LockstepPlan {
  DeviceArray<RowTask> rows;  ///< whole rows, the longest first
  int count = 0;
  int batch = 0;  ///< rows that take their steps in lockstep
  int chunks = 0;
  DeviceArray<Offset> bounds;
  DeviceArray<LockstepRow> kept;
  DeviceArray<int> left;
  PinnedArray<int> host_left;
  DenseProducts dense;  ///< of the first batch, without what is on the GPU
  DeviceArray<int> dense_list;
};

/// Chunks of a table of so many rows; 1 where all of it fits the cache.
[[nodiscard]] int table_chunks(Offset row_bytes, Index rows);

/// Floats and doubles that a row takes of a problem's piece_sums and piece_constants.
[[nodiscard]] constexpr Offset lockstep_floats(int padded, int chunks) {
  return Offset{padded} * (chunks + 2);
}
[[nodiscard]] constexpr Offset lockstep_doubles(int chunks) { return Offset{2} * chunks; }

/// `rows` are whole rows of these entries, the longest first, the first of them `dense`.
[[nodiscard]] LockstepPlan plan_lockstep(const std::vector<RowTask>& rows, const RowEntry* entries,
                                         Index fixed_rows, Offset row_bytes, int batch,
                                         const DenseProducts& dense, cudaStream_t stream);

/// Waits for the GPU after every step.
void solve_lockstep(Precision precision, const RowProblem& problem, LockstepPlan& plan,
                    cudaStream_t stream);

}  // namespace likewise::cuda
