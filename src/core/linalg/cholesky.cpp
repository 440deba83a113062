// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/cholesky.h"

#include <cmath>

namespace likewise {

Index cholesky_factor(double* a, Index n) {
  for (Index k = 0; k < n; ++k) {
    double* row = a + Offset{k} * n;
    if (!(row[k] > 0.0) || !std::isfinite(row[k])) return k;
    const double scale = 1.0 / std::sqrt(row[k]);
    for (Index i = k; i < n; ++i) row[i] *= scale;
    for (Index j = k + 1; j < n; ++j) {
      double* below = a + Offset{j} * n;
      for (Index i = j; i < n; ++i) below[i] -= row[j] * row[i];
    }
  }
  return -1;
}

void cholesky_solve(const double* u, Index n, double* b) {
  for (Index k = 0; k < n; ++k) {  // U^T z = b
    const double* row = u + Offset{k} * n;
    b[k] /= row[k];
    for (Index i = k + 1; i < n; ++i) b[i] -= row[i] * b[k];
  }
  for (Index k = n - 1; k >= 0; --k) {  // U x = z
    const double* row = u + Offset{k} * n;
    for (Index i = k + 1; i < n; ++i) b[k] -= row[i] * b[i];
    b[k] /= row[k];
  }
}

}  // namespace likewise
