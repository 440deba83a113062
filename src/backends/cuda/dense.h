// SPDX-License-Identifier: Apache-2.0
/// Dense work of an ALS half-step on the card: Gram matrices, the basis in which rows are solved,
/// and products of tall tables with small square matrices.
///
/// Tables are row-major float32 with `padded` columns (a multiple of 16, at most 1024); the columns
/// from `width` on are zero and stay so. All results are the same in every run on the same card.
#pragma once

#include <cuda_runtime_api.h>

#include "backends/cuda/device/memory.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// gram (padded x padded, row-major, both triangles) = sum_r weight_r y_r y_r^T, products exact to
/// float32, sums in float64 over blocks of rows. `weights` null: all 1.
class GramSum {
 public:
  explicit GramSum(int padded);
  void run(const float* y, Index rows, const float* weights, double* gram, cudaStream_t stream);

 private:
  int padded_;
  DeviceArray<float> partial_;
};

/// What the rows of a half-step are solved in: v = transform^T y for a row y of the fixed side, and
/// x = back^T z for the solution z, with
///
///     row matrix in z:  diag(own * base + lambda_row * shrink) + sum w v v^T
///
/// (own = 1 for implicit feedback, 0 for explicit).
struct Basis {
  DeviceArray<float> transform;  ///< padded x padded, row-major: row of v = row of y * transform
  DeviceArray<float> back;       ///< padded x padded, row-major: row of x = row of z * back
  DeviceArray<float> base;       ///< padded: S_j / (S_j + lambda_ref); 1 for padding
  DeviceArray<float> shrink;     ///< padded: 1 / (S_j + lambda_ref); 0 for padding
};

class BasisMaker {
 public:
  BasisMaker(int width, int padded);

  /// For one regularisation shared by all rows: weight * gram + lambda I = L L^T, transform = L^-T,
  /// back = L^-1. base = 1 and shrink = 0: the row matrix is I + sum w v v^T.
  void by_cholesky(const double* gram, double weight, double lambda, cudaStream_t stream);

  /// weight * gram = Q S Q^T, transform = Q (S + lambda_ref)^-1/2, back its transpose.
  void by_eigenvectors(const double* gram, double weight, double lambda_ref, cudaStream_t stream);

  [[nodiscard]] const Basis& basis() const { return basis_; }
  /// After the stream is through: throws Error(kNumerical) when the last matrix was not positive
  /// definite or not finite.
  void check(cudaStream_t stream);

 private:
  int width_;
  int padded_;
  Basis basis_;
};

/// c = a * b for a tall table a (rows x padded) and a small b (padded x padded), exact to about
/// float32. a and c may not overlap.
void multiply_rows(const float* a, Index rows, int padded, const float* b, float* c,
                   cudaStream_t stream);

}  // namespace likewise::cuda
