// SPDX-License-Identifier: Apache-2.0
/// One side of SGD on the GPU: factors as they are stored, and the numbers beside them.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// What a row has beside its factors.
struct alignas(16) SgdRowNumbers {
  float bias = 0.0F;
  float squares = 0.0F;  ///< of gradients, so far
  float share = 0.0F;    ///< count^(nu - 1): of lambda, for one rating
  float norm = 0.0F;     ///< |x|^2
};

/// Rows of `columns` numbers, without padding, of float16 or float32.
struct SgdTable {
  void* rows = nullptr;
  SgdRowNumbers* numbers = nullptr;
};

/// norm of each row and `terms` = weight (lambda norm + bias_lambda bias^2); infinite where a row
/// reached the end of what float16 can say. Factors below `least` become it.
void measure_rows(bool halves, const SgdTable& table, Index rows, int columns, float least,
                  const float* weights, float lambda, float bias_lambda, double* terms,
                  cudaStream_t stream);

/// The pieces of a long row: lines [first, end) after its own.
struct SgdLongRow {
  Index row = 0;
  Index first = 0;
  Index end = 0;
  float squares = 0.0F;  ///< that the row began with
};

/// All pieces start where their row stands. `rows[i].squares` is set.
void split_rows(bool halves, const SgdTable& table, SgdLongRow* rows, Index count, int columns,
                cudaStream_t stream);

/// Rows end where their pieces do on average; shares[line] sum to 1 over the lines of a row. Its
/// squares grow by those of all.
void join_rows(bool halves, const SgdTable& table, const SgdLongRow* rows, Index count, int columns,
               const float* shares, cudaStream_t stream);

}  // namespace likewise::cuda
