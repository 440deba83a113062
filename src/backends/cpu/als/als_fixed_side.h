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

class AlsFixedSide {
 public:
  /// `matrix` has the fixed side's rows; the table is reused from half-step to half-step.
  void prepare(const CsrView& matrix, Side fixed, const Factors& factors, const AlsParams& params);

  [[nodiscard]] const Matrix& table() const { return table_; }  ///< y Q, rows x width
  [[nodiscard]] const Eigenbasis& basis() const { return basis_; }
  /// Eigenvalues, never negative: of w0 Y^T Y (implicit) or of the ratings' mean y y^T (explicit).
  [[nodiscard]] std::span<const double> spectrum() const { return basis_.values; }
  /// sum_r lambda_r |y_r|^2 of the fixed side.
  [[nodiscard]] double regularization() const { return regularization_; }

 private:
  Matrix table_;
  Eigenbasis basis_;
  double regularization_ = 0.0;
};

}  // namespace likewise
