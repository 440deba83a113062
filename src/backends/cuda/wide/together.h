// SPDX-License-Identifier: Apache-2.0
/// Long rows of tables that do not fit the card's L2 cache: all rows of a batch take a step of
/// conjugate gradients in lockstep, chunk after chunk of the table. What a chunk's interactions
/// read is then in the cache, however large the table is.
#pragma once

#include "backends/cuda/als_rows.h"
#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

/// What a row keeps from step to step beside its vectors.
struct TogetherRow {
  double constant;
  double won;
  float rho;
  float enough;
  bool positive;
  bool goes_on;
};

/// A batch of rows on the card.
struct TogetherBatch {
  const RowTask* rows;
  int count;
  int chunks;
  const Offset* bounds;
  TogetherRow* kept;
  float* parts;       ///< [row][chunk][padded] of the product
  float* residuals;   ///< [row][padded]
  float* directions;  ///< [row][padded]
  double* totals;     ///< [row][chunk][2]
  int* left;          ///< rows that go on
};

/// Rows that are solved together.
struct TogetherPlan {
  DeviceArray<RowTask> rows;  ///< whole rows, the longest first
  int count = 0;
  int batch = 0;  ///< rows that take their steps together
  int chunks = 0;
  DeviceArray<Offset> bounds;
  DeviceArray<TogetherRow> kept;
  DeviceArray<int> left;
  PinnedArray<int> host_left;
};

/// Chunks of a table of so many rows; 1 where all of it fits the cache.
[[nodiscard]] int table_chunks(Offset row_bytes, Index rows);

/// Floats and doubles that a row takes of a problem's piece_sums and piece_constants.
[[nodiscard]] constexpr Offset together_floats(int padded, int chunks) {
  return Offset{padded} * (chunks + 2);
}
[[nodiscard]] constexpr Offset together_doubles(int chunks) { return Offset{2} * chunks; }

/// `rows` are whole rows of these entries, the longest first.
[[nodiscard]] TogetherPlan plan_together(const std::vector<RowTask>& rows, const RowEntry* entries,
                                         Index fixed_rows, Offset row_bytes, int batch,
                                         cudaStream_t stream);

/// Waits for the card after every step.
void solve_together(Precision precision, const RowProblem& problem, TogetherPlan& plan,
                    cudaStream_t stream);

}  // namespace likewise::cuda
