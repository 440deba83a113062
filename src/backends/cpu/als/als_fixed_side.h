// SPDX-License-Identifier: Apache-2.0
/// What all rows of an ALS half-step share: the fixed side, rotated into the basis in which its
/// Gram matrix is diagonal.
///
/// Every row's matrix is then diagonal + sum w y y^T with a known diagonal, which is both cheap to
/// multiply with and the preconditioner (math.md, "How the rows are solved"). Nothing f x f
/// exists per row, and a regularisation that differs by row costs nothing.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "backends/cpu/kernels/als_passes.h"
#include "core/linalg/dense.h"
#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/matrix.h"

namespace likewise {

/// Rows of the fixed side: all of them, or those of one rank.
struct AlsFixedRows {
  const CsrView& matrix;  ///< their interactions with all rows of the other side
  const Matrix& factors;
  std::span<const float> bias;
  Offset interactions = 0;  ///< of all rows, those of other ranks included
};

/// What rows of the fixed side add up to. The sums of several ranks add up to those of all rows.
struct AlsFixedSums {
  /// d x d: Y^T Y (implicit), or y y^T weighted by the row's share of all ratings (explicit).
  std::vector<double> gram;
  double regularization = 0.0;  ///< sum_r lambda_r |y_r|^2
};

/// What rows are solved in.
struct AlsBasis : Eigenbasis {
  /// w0 Y^T Y, d x d: of implicit feedback where factors are nonnegative, else empty.
  std::vector<double> gram;
};

/// The basis that those sums over all rows give. Its values, never negative, are the eigenvalues of
/// w0 Y^T Y (implicit) or of the ratings' mean y y^T (explicit). Signs are known in the basis of
/// the factors alone, so that nonnegative ones stay in it: its values are 0 then, and `gram` is
/// theirs.
[[nodiscard]] AlsBasis fixed_basis(std::vector<double> gram, const AlsParams& params);

/// The parameters with the precision that Precision::kAuto is on a CPU: float16 for implicit
/// feedback of more than 262,144 interactions without given confidences, where rows are solved by
/// conjugate gradients and the processor converts float16; else float32. Throws
/// Error(kInvalidArgument) for precisions of GPUs, and for float16 with given confidences.
[[nodiscard]] AlsParams resolve_cpu_precision(AlsParams params, const AlsShape& shape);
/// Of a number stored so. Not for Precision::kAuto.
[[nodiscard]] constexpr Offset stored_bytes(Precision precision) {
  return precision == Precision::kFp16 ? 2 : 4;
}

[[nodiscard]] kernels::StoredRows stored_rows(const Matrix& rows);

/// take() and rotate() once in each half-step, with the same rows. What is stored is reused from
/// half-step to half-step. A row's features are its factors, and a 1 for the other side's bias.
class AlsFixedSide {
 public:
  /// Sums over the rows' features. `params` have a precision that is not Precision::kAuto.
  [[nodiscard]] AlsFixedSums take(const AlsFixedRows& rows, const AlsParams& params);
  /// Stores scale() y Q. Throws Error(kNumerical) where 16 bits hold no such numbers.
  void rotate(AlsBasis basis);

  /// In float32, rows x width. Empty where they are stored in 16 bits.
  [[nodiscard]] const Matrix& table() const { return table_; }
  [[nodiscard]] kernels::StoredRows rows() const;
  /// A power of two: float16 is used where it is as fine as it gets. 1 in float32.
  [[nodiscard]] float scale() const { return scale_; }
  [[nodiscard]] const AlsBasis& basis() const { return basis_; }

 private:
  [[nodiscard]] float scale_of_rows() const;

  MatrixView features_;
  Matrix with_ones_;      ///< features that are not the factors alone
  double longest_ = 0.0;  ///< greatest norm of features
  Matrix table_;
  Array<std::uint16_t> halves_;
  bool sixteen_bits_ = false;
  float scale_ = 1.0F;
  AlsBasis basis_;
};

}  // namespace likewise
