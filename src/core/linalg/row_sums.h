// SPDX-License-Identifier: Apache-2.0
/// Weighted sums of rows of a dense matrix, in SIMD (Highway), on the calling thread.
#pragma once

#include <span>

#include "likewise/matrix.h"
#include "likewise/types.h"

namespace likewise::kernels {

/// out (x.stride numbers, aligned as a Matrix's rows) = sum of weights_e times row rows_e of x, in
/// their order, in float32.
void sum_rows(std::span<const Index> rows, const float* weights, const MatrixView& x, float* out);

/// out (x.cols numbers) = the same in double precision, every product rounded: the same bits on
/// every machine.
void sum_rows(std::span<const Index> rows, const double* weights, const MatrixView& x, double* out);

}  // namespace likewise::kernels
