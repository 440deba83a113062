// SPDX-License-Identifier: Apache-2.0
/// Cholesky factorisation and solve of one symmetric positive definite system in double precision.
/// (core/dense_kernels.h has the one in float32 and SIMD that training on the CPU uses.)
#pragma once

#include "likewise/types.h"

namespace likewise {

/// Factors A = U^T U in place; `a` is n x n, row-major, and only its upper triangle is read and
/// written. Returns -1, or the first row whose pivot is not positive (A is then not positive
/// definite) or not finite; the pivot stands on the diagonal.
[[nodiscard]] Index cholesky_factor(double* a, Index n);

/// Solves U^T U x = b in place, with U from cholesky_factor.
void cholesky_solve(const double* u, Index n, double* b);

}  // namespace likewise
