// SPDX-License-Identifier: Apache-2.0
/// Cholesky factors of small symmetric matrices in float64 on the GPU, up to 1024 x 1024.
/// Matrices are row-major, `padded` x `padded`, `padded` a multiple of 16.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

/// Rows that one block factors in its shared memory; wider matrices go panel by panel.
inline constexpr int kPanel = 128;

/// matrix = weight * gram + lambda I in the first `width` rows and columns, identity beyond.
void regularize(const double* gram, int width, int padded, double weight, double lambda,
                double* matrix, cudaStream_t stream);

/// What invert_cholesky leaves, rounded to float32.
struct CholeskyResults {
  float* inverse;     ///< L^-1, zeros above the diagonal
  float* transposed;  ///< L^-T
  float* base;        ///< 1
  float* shrink;      ///< 0
};
/// For matrix = L L^T, which is lost. `panel`: room for padded x kPanel numbers, not used up to
/// kPanel. *status (0 before) becomes 1 + the number of the first pivot that is below `least` (> 0)
/// or not finite; the results are then undefined.
void invert_cholesky(double* matrix, int padded, double least, double* panel,
                     const CholeskyResults& results, int* status, cudaStream_t stream);

/// matrix = L L^T is replaced by L^T, zeros below; padded <= kPanel. Pivots below `least` are
/// raised to it. *status as above for those that are not finite. Nothing happens where *wanted, if
/// it is given, is 0.
void factor_cholesky(double* matrix, int padded, double least, int* status, const int* wanted,
                     cudaStream_t stream);

}  // namespace likewise::cuda
