// SPDX-License-Identifier: Apache-2.0
/// Dense work of an ALS half-step on the GPU: Gram matrices, the basis in which rows are solved,
/// and products of tall tables with small square matrices.
///
/// Tables are row-major float32 with `padded` columns (a multiple of 16, at most 1024); the columns
/// from `width` on are zero and stay so. All results are the same in every run on the same GPU.
/// Nothing here waits for the GPU unless it says so. Objects belong to the GPU that was current
/// when they were made, and to one stream at a time.
#pragma once

#include <cuda_fp16.h>
#include <cuda_runtime_api.h>
#include <optional>

#include "backends/cuda/device/event.h"
#include "backends/cuda/device/memory.h"
#include "backends/cuda/linalg/jacobi.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// gram (padded x padded, row-major, both triangles) = sum_r weight_r y_r y_r^T, products exact to
/// float32, sums in float64 over blocks of rows. `weights` (never negative) null: all 1.
class GramSum {
 public:
  explicit GramSum(int padded);
  /// What it takes of the GPU.
  [[nodiscard]] static Offset bytes(int padded);

  void run(const float* y, Index rows, const float* weights, double* gram, cudaStream_t stream);

  /// The same bits from a table of `rows` rows that is given block by block, in order: `y` holds
  /// rows [first, first + count), of which `first` is a multiple of rows_per_split(). `weights` are
  /// those of all rows. `gram` is there after the last block.
  void add(const float* y, Index first, Index count, Index rows, const float* weights, double* gram,
           cudaStream_t stream);
  [[nodiscard]] Index rows_per_split(Index rows) const;

 private:
  int padded_;
  int tiles_;   // along the Gram matrix
  int side_;    // of a tile, in groups of 16 columns
  int splits_;  // partial sums of one round
  DeviceArray<float> partial_;
};

/// What the rows of a half-step are solved in: v = transform^T y for a row y of the fixed side, and
/// x = back^T z for the solution z, with
///
///     row matrix in z:  diag(own * base + lambda_row * shrink) + sum w v v^T
///
/// (own = 1 for implicit feedback, 0 for explicit).
class Basis {
 public:
  explicit Basis(int padded)
      : padded_(padded), square_(Offset{padded} * padded), numbers_(2 * (square_ + padded)) {}

  /// padded x padded, row-major: row of v = row of y * transform
  [[nodiscard]] float* transform() { return numbers_.data(); }
  /// padded x padded, row-major: row of x = row of z * back
  [[nodiscard]] float* back() { return numbers_.data() + square_; }
  /// padded: S_j / (S_j + lambda_ref); 1 for padding
  [[nodiscard]] float* base() { return back() + square_; }
  /// padded: 1 / (S_j + lambda_ref); 0 for padding
  [[nodiscard]] float* shrink() { return base() + padded_; }
  /// All of these, one after the other: what another GPU needs to have the same basis.
  [[nodiscard]] DeviceArray<float>& numbers() { return numbers_; }
  [[nodiscard]] const DeviceArray<float>& numbers() const { return numbers_; }
  [[nodiscard]] int padded() const { return padded_; }

 private:
  int padded_;
  Offset square_;
  DeviceArray<float> numbers_;
};

class BasisBuilder {
 public:
  BasisBuilder(int width, int padded);

  /// For one regularisation shared by all rows: weight * gram + lambda I = L L^T, transform = L^-T,
  /// back = L^-1. base = 1 and shrink = 0: the row matrix is I + sum w v v^T. Where rounding
  /// outweighs lambda, as with fewer rows than columns, eigenvectors take over.
  void start_cholesky(const double* gram, double weight, double lambda, cudaStream_t stream);
  /// With the same arguments. Waits for the GPU where is_on_gpu() does not hold.
  void finish_cholesky(const double* gram, double weight, double lambda, cudaStream_t stream);

  /// weight * gram = Q S Q^T, transform = Q (S + lambda_ref)^-1/2, back its transpose. S in no
  /// order, negative values taken as 0; S + lambda_ref at least 1e-12 of the largest. Beyond 128
  /// columns LAPACK does it on the host, and the call waits for it.
  void by_eigenvectors(const double* gram, double weight, double lambda_ref, cudaStream_t stream);

  /// The host has no part in it.
  [[nodiscard]] bool is_on_gpu() const { return jacobi_.has_value(); }
  [[nodiscard]] Basis& basis() { return basis_; }
  [[nodiscard]] const Basis& basis() const { return basis_; }
  /// Has the stream bring what check() looks at.
  void fetch_status(cudaStream_t stream);
  /// After the stream is through with that: throws Error(kNumerical) when the last matrix was not
  /// positive definite or not finite.
  void check() const;

 private:
  void find_eigenvectors(const double* gram, double weight, double lambda_ref, const int* wanted,
                         cudaStream_t stream);

  int width_;
  int padded_;
  Basis basis_;
  /// Of the basis and of Cholesky, 0 is good.
  DeviceArray<int> status_;
  PinnedArray<int> status_on_host_;
  Event cholesky_done_;
  DeviceArray<double> matrix_;  // of Cholesky
  DeviceArray<double> panel_;   // of Cholesky, wide
  std::optional<JacobiSolver> jacobi_;
};

/// A small matrix b (padded x padded) as the products below read it.
class SplitMatrix {
 public:
  explicit SplitMatrix(int padded);
  /// Takes b, row-major; it may change or go as soon as the stream is through.
  void set(const float* b, cudaStream_t stream);

  [[nodiscard]] int padded() const { return padded_; }
  [[nodiscard]] int pieces() const { return pieces_; }  ///< along each side
  [[nodiscard]] int steps() const { return steps_; }    ///< of 16 depths in a piece
  [[nodiscard]] const void* parts() const { return parts_.data(); }
  [[nodiscard]] const float* unscale() const { return unscale_.data(); }

 private:
  int padded_;
  int pieces_ = 1;
  int steps_ = 1;
  DeviceArray<uint4> parts_;    // multiply_rows.cu, split_columns
  DeviceArray<float> unscale_;  // by column
};

/// c = a * b for a tall table a (rows x padded), exact to about float32: an entry's error is within
/// 2^-21 |a row| |b column|. a and c may not overlap.
void multiply_rows(const float* a, Index rows, const SplitMatrix& b, float* c, cudaStream_t stream);

/// c = half(*scale * (a * b)); `scale` lies on the GPU.
void multiply_rows_half(const float* a, Index rows, const SplitMatrix& b, const float* scale,
                        __half* c, cudaStream_t stream);

/// *absmax (on the GPU) = the largest |entry| of a * b, NaN where there is one.
void multiply_rows_absmax(const float* a, Index rows, const SplitMatrix& b, float* absmax,
                          cudaStream_t stream);

}  // namespace likewise::cuda
