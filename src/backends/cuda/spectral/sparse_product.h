// SPDX-License-Identifier: Apache-2.0
/// Products of a sparse matrix with a block of columns.
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// On the GPU; `scale` is one number for each column.
struct SparseRows {
  const Offset* offsets = nullptr;
  const Index* columns = nullptr;
  const float* values = nullptr;
  Index first = 0;  ///< the first row
  Index rows = 0;   ///< and how many
  const double* scale = nullptr;
};

/// out (rows x stride) = A x, for x with rows of `stride` numbers, a multiple of 16. Summed in
/// float32, with a scale in double precision; the same bits in every run.
void multiply_sparse(const SparseRows& a, const float* x, Index stride, float* out,
                     cudaStream_t stream);
/// With values times the scale of their columns.
void multiply_scaled(const SparseRows& a, const float* x, Index stride, float* out,
                     cudaStream_t stream);

}  // namespace likewise::cuda
