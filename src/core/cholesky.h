// SPDX-License-Identifier: Apache-2.0
/// Cholesky factorisation and solve of one small symmetric positive definite system.
#pragma once

#include <cmath>
#include <span>

#include "likewise/types.h"

namespace likewise {

/// Factors the lower triangle of `a` (n x n, row-major) in place, A = L L^T. Returns -1, or the
/// first column whose pivot is not positive (A is then not positive definite, or not finite).
template <class Real>
[[nodiscard]] Index cholesky_factor(Real* a, Index n) {
  const auto at = [&](Index i, Index j) -> Real& { return a[static_cast<Offset>(i) * n + j]; };
  for (Index j = 0; j < n; ++j) {
    Real pivot = at(j, j);
    for (Index k = 0; k < j; ++k) pivot -= at(j, k) * at(j, k);
    if (!(pivot > Real{0})) return j;
    const Real root = std::sqrt(pivot);
    at(j, j) = root;
    for (Index i = j + 1; i < n; ++i) {
      Real sum = at(i, j);
      for (Index k = 0; k < j; ++k) sum -= at(i, k) * at(j, k);
      at(i, j) = sum / root;
    }
  }
  return -1;
}

/// Solves L L^T x = b in place, with L from cholesky_factor.
template <class Real>
void cholesky_solve(const Real* l, Index n, Real* b) {
  const auto at = [&](Index i, Index j) { return l[static_cast<Offset>(i) * n + j]; };
  for (Index i = 0; i < n; ++i) {
    for (Index k = 0; k < i; ++k) b[i] -= at(i, k) * b[k];
    b[i] /= at(i, i);
  }
  for (Index i = n - 1; i >= 0; --i) {
    b[i] /= at(i, i);
    for (Index k = 0; k < i; ++k) b[k] -= at(i, k) * b[i];
  }
}

}  // namespace likewise
