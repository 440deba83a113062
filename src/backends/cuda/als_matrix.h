// SPDX-License-Identifier: Apache-2.0
/// One side's view of the interactions on the card: its rows, what every row needs, and the tasks
/// that a half-step is cut into.
#pragma once

#include <vector>

#include "backends/cuda/als_rows.h"
#include "backends/cuda/als_wide.h"
#include "backends/cuda/device/memory.h"
#include "likewise/als.h"
#include "likewise/autotune.h"
#include "likewise/csr.h"

namespace likewise::cuda {

/// Sparse rows on the card.
struct DeviceRows {
  Index rows = 0;
  Index cols = 0;
  Offset nnz = 0;
  DeviceArray<Offset> offsets;
  DeviceArray<RowEntry> entries;
};

[[nodiscard]] DeviceRows upload_rows(const CsrView& matrix, cudaStream_t stream);

/// The same entries by column, sorted; offsets are given on the host too.
[[nodiscard]] DeviceRows transpose_rows(const DeviceRows& matrix, std::vector<Offset>& offsets,
                                        cudaStream_t stream);

/// Implicit feedback: replaces every value by its signed size (als_rows.h, RowWeights).
void weigh_values(DeviceRows& matrix, const AlsParams& params, cudaStream_t stream);

/// What a half-step over these rows needs, made once.
struct RowPlan {
  DeviceArray<RowTask> tasks;  ///< whole rows and pieces, the largest first
  int task_count = 0;
  DeviceArray<RowTask> short_tasks;  ///< whole short rows, the longest first
  std::vector<std::int32_t> short_counts;
  DeviceArray<RowTask> ends;  ///< of rows in pieces
  int end_count = 0;
  int pieces = 0;
  Offset sums = 0;       ///< floats that a problem's piece_sums must have
  Offset constants = 0;  ///< doubles of its piece_constants
  WidePlan wide;         ///< all rows, where the tuning is wide; there are no other tasks then
  DeviceArray<Index> empty_rows;
  int empty_count = 0;
  DeviceArray<float> regularization;     ///< lambda of each row
  float smallest_regularization = 0.0F;  ///< over rows with entries
  float typical_regularization = 0.0F;   ///< mean over entries of lambda_row (/ count: explicit)
  DeviceArray<float> shares;             ///< explicit: the part of all ratings that a row has
  Offset smallest_count = 0;             ///< entries of the shortest row that has any
  DeviceArray<float> largest;            ///< implicit: power of two not below any w of the row
};

[[nodiscard]] RowPlan plan_rows(const DeviceRows& matrix, std::span<const Offset> offsets,
                                const AlsParams& params, const AlsTuning& tuning,
                                cudaStream_t stream);

/// Solves all rows of the plan.
void solve_rows(Precision precision, const RowProblem& problem, RowPlan& plan,
                const AlsTuning& tuning, cudaStream_t stream);

}  // namespace likewise::cuda
