// SPDX-License-Identifier: Apache-2.0
/// Dense linear algebra of whole matrices. Products are our own kernels (blocks here are tall and
/// narrow, and results must not depend on the number of threads); the eigenvectors are LAPACK's.
#pragma once

#include <span>
#include <vector>

#include "likewise/matrix.h"

namespace likewise {

/// C (rows x b.cols) = A (rows x b.rows) * B. Rows of `a` and `c` are padded like a Matrix's. Runs
/// on the calling thread.
void multiply(Index rows, const float* a, Index a_stride, const MatrixView& b, float* c,
              Index c_stride);

/// sum_r weight_r y_r y_r^T (d x d, row-major, both triangles) over the rows of `m` (d = m.cols),
/// summed in float32 within blocks of 512 rows and in float64 over them. Empty weights: all 1.
[[nodiscard]] std::vector<double> weighted_gram(const MatrixView& m,
                                                std::span<const float> weights);

/// A = Q diag(values) Q^T.
struct Eigenbasis {
  std::vector<double> values;  ///< rising
  Matrix vectors;              ///< Q: column j is the eigenvector of values[j]
  Matrix transposed;           ///< Q^T
};
/// `a` is symmetric d x d. Throws Error(kNumerical) when it holds a NaN, and as symmetric_eigen().
[[nodiscard]] Eigenbasis eigenbasis(std::vector<double> a, Index d);

/// The length of the longest row; 0 where there are none.
[[nodiscard]] double longest_row(const MatrixView& rows);

/// Whether no number is below 0.
[[nodiscard]] bool is_nonnegative(const Matrix& m);

}  // namespace likewise
