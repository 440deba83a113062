// SPDX-License-Identifier: Apache-2.0
/// What all rows of an ALS half-step share: the fixed side, rotated into the basis in which its
/// Gram matrix is diagonal.
///
/// Every row's matrix is then diagonal + sum w y y^T with a known diagonal, which is both cheap to
/// multiply with and the preconditioner (docs/math.md, "How the rows are solved"). Nothing f x f
/// exists per row, and a regularisation that differs by row costs nothing.
#pragma once

#include <span>
#include <vector>

#include "core/dense.h"
#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/factors.h"

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

/// The basis that those sums over all rows give. Its values, never negative, are the eigenvalues of
/// w0 Y^T Y (implicit) or of the ratings' mean y y^T (explicit).
[[nodiscard]] Eigenbasis fixed_basis(std::vector<double> gram, const AlsParams& params);

/// take() and rotate() once in each half-step. The table is reused from half-step to half-step.
class AlsFixedSide {
 public:
  /// The table is then that of the features: the factors, and a 1 for the other side's bias.
  [[nodiscard]] AlsFixedSums take(const AlsFixedRows& rows, const AlsParams& params);
  void rotate(Eigenbasis basis);

  [[nodiscard]] const Matrix& table() const { return table_; }  ///< y Q, rows x width
  [[nodiscard]] const Eigenbasis& basis() const { return basis_; }

 private:
  Matrix table_;
  Eigenbasis basis_;
};

}  // namespace likewise
