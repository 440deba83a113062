// SPDX-License-Identifier: Apache-2.0
/// Explicit rows whose matrices float32 cannot factor: with fewer ratings than unknowns and little
/// regularization, what tells the unknowns apart is lost in rounding. They are solved once more, in
/// float64.
#pragma once

#include <algorithm>

#include "backends/cuda/als/als_tasks.h"
#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

class DoubleRows {
 public:
  /// For portions of at most `most_rows` rows.
  DoubleRows(Index most_rows, int padded);
  /// What it takes of the GPU.
  [[nodiscard]] static Offset bytes(Index most_rows, int padded);

  /// Where row kernels leave the rows that they give up.
  [[nodiscard]] RowQueue queue() { return {count_.data(), rows_.data()}; }

  /// Solves what the portion left in the queue, and empties it. The problem's table and entries are
  /// as they were for solve_portion(). A row that goes beyond the portion, or that float64 cannot
  /// factor either, becomes the problem's failed row.
  void solve(Precision precision, const RowProblem& problem, const RowPortion& portion,
             cudaStream_t stream);

 private:
  int slots_;  ///< rows that are solved at a time
  DeviceArray<int> count_{1};
  DeviceArray<Index> rows_;
  DeviceArray<double> matrices_;
};

}  // namespace likewise::cuda
