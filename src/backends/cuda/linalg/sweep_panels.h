// SPDX-License-Identifier: Apache-2.0
/// Rows of a symmetric matrix, of which only the upper triangle is there.
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// `count` rows from `first` of the matrix a (order x order, row-major). `first` is a multiple of
/// 32; `count` too, but for the last rows.
struct SymmetricRows {
  float* a = nullptr;
  Index order = 0;
  Index first = 0;
  Index count = 0;
};

/// panel (count x order) = these rows with zeros in their own square, which goes to `square`.
void gather_rows(const SymmetricRows& rows, float* panel, double* square, cudaStream_t stream);

/// The rows become `panel`, their own square -square.
void put_rows(const SymmetricRows& rows, const float* panel, const float* square,
              cudaStream_t stream);

}  // namespace likewise::cuda
