// SPDX-License-Identifier: Apache-2.0
/// Ridge regression on sparse rows.
#pragma once

#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/matrix.h"

namespace likewise {

/// W (v.cols x y.cols), the minimum of  |V W - Y|^2 + lambda |W|^2  with `y` of v.rows rows and
/// lambda above 0: conjugate gradients in double precision from `start` (of W's shape; null: 0),
/// until the residual is a millionth of V^T Y, or 500 steps. A column of W depends on that column
/// of Y alone; the bits do not depend on the number of threads. Errors: kCancelled.
[[nodiscard]] Matrix ridge_regression(const CsrView& v, const MatrixView& y, double lambda,
                                      const Matrix* start, const RunControl& control);

/// V W, float32.
[[nodiscard]] Matrix multiply_sparse(const CsrView& v, const MatrixView& w);

}  // namespace likewise
