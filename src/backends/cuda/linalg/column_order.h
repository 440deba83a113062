// SPDX-License-Identifier: Apache-2.0
/// The entries of a matrix by column.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// A matrix that is stored by row, on the GPU.
struct MatrixByRow {
  const Offset* offsets = nullptr;  ///< of rows
  const Index* columns = nullptr;   ///< of entries
  Index rows = 0;
  Index cols = 0;
  Offset entries = 0;
};

struct ColumnOrder {
  DeviceArray<Index> rows;      ///< of the entries as they are stored
  DeviceArray<Offset> entries;  ///< their places, by column and then by row
  DeviceArray<Offset> starts;   ///< of columns among these

  /// What it takes of the GPU, and while it is made.
  [[nodiscard]] static Offset bytes(Index cols, Offset entries);
};

/// Waits until it is made.
[[nodiscard]] ColumnOrder order_by_column(const MatrixByRow& matrix, cudaStream_t stream);

}  // namespace likewise::cuda
