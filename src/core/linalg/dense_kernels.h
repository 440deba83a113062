// SPDX-License-Identifier: Apache-2.0
/// A small GEMM for tall blocks, in SIMD (Highway), on the calling thread.
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

/// C (rows x n) = or += sum_k A(i, k) B(k, j), with A(i, k) at a[i * a_row + k * a_step], so that A
/// may be read transposed. B and C are row-major with strides that are multiples of 16 and aligned
/// rows; n is rounded up to 16 (B's padding must be zero). `upper`: only tiles that touch j >= i.
struct Product {
  Index rows = 0;
  Index n = 0;
  Index k = 0;
  const float* a = nullptr;
  Offset a_row = 0;
  Offset a_step = 0;
  const float* b = nullptr;
  Index b_stride = 0;
  float* c = nullptr;
  Index c_stride = 0;
  bool add = false;
  bool upper = false;
};
void multiply(const Product& product);

/// Factors A = U^T U in place (n x n, row-major with a stride, upper triangle read and written; the
/// lower one is not touched). `u` rows are 64-byte aligned. Returns -1 or the first bad pivot.
[[nodiscard]] Index cholesky_upper(float* u, Index n, Index stride);

/// Solves U^T U x = b in place; b is padded with zeros to the stride.
void solve_upper(const float* u, Index n, Index stride, float* b);

}  // namespace likewise::kernels
