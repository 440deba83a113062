// SPDX-License-Identifier: Apache-2.0
/// Sparse rows on the GPU.
#pragma once

#include <span>

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/device/memory.h"
#include "likewise/als.h"
#include "likewise/csr.h"

namespace likewise::cuda {

struct DeviceRows {
  Index rows = 0;
  Index cols = 0;
  Offset nnz = 0;
  DeviceArray<Offset> offsets;
  DeviceArray<RowEntry> entries;  ///< none where they are streamed
  CsrView host;                   ///< what to stream from
};

/// The same entries by column, sorted, whatever `at_once` is: so many are sorted at a time, which
/// bounds the memory that it takes. `offsets` are the matrix's, on the host.
[[nodiscard]] DeviceRows transpose_rows(const DeviceRows& matrix, std::span<const Offset> offsets,
                                        Offset at_once, cudaStream_t stream);

/// Implicit feedback: replaces every value by its signed size (als_rows.h, RowWeights).
void weigh_entries(RowEntry* entries, Offset count, const AlsParams& params, cudaStream_t stream);

/// largest[row] = max(largest[row], |values of the row's tasks|). `tasks` are rows and pieces.
void raise_largest(const RowTask* tasks, int count, const RowEntry* entries, float* largest,
                   cudaStream_t stream);
/// Each becomes a power of two not below it; 1 where it was 0.
void round_largest(float* largest, Index rows, cudaStream_t stream);

}  // namespace likewise::cuda
