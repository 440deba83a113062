// SPDX-License-Identifier: Apache-2.0
/// Pair sums by GEMM, for matrices that are nearly dense. With A the weights of all rows
/// (0 where there is none), M their pattern (1 or 0) and S = A^2:
///
///     n = M M^T   x = A M^T   y = M A^T   xx = S M^T   yy = M S^T   xy = A A^T
///
/// One addition follows the other in the order of the columns, as where common entries are met one
/// by one: the sums are bit-identical.
#pragma once

#include <span>

#include "backends/jobs/knn_cost.h"
#include "likewise/array.h"
#include "likewise/csr.h"

namespace likewise {

/// T: of the sums, float or double.
template <class T>
class DensePairs {
 public:
  /// `lanes`: 1 for xy; 4 for n, xx, yy, xy; 8 for n, x, y, xx, yy, xy and two zeros.
  DensePairs(const CsrView& rows, std::span<const Index> order, int lanes);

  /// Beside that of meeting common entries one by one.
  [[nodiscard]] static KnnCost cost(const CsrView& rows, int lanes);

  /// Rows that are to share a call of add(), and numbers that it then writes at most.
  [[nodiscard]] Index block_rows() const;
  [[nodiscard]] Offset block_sums() const;

  /// Memory of a thread that calls add().
  class Scratch {
    friend DensePairs;
    Array<T> left[3];  ///< A, M and S of the rows of a call
    Array<T> right;    ///< some columns of a tile of the others
    Array<T> product;
  };

  /// Sums of the rows of ranks [first, first + count) with those of ranks [0, limit):
  /// out[r stride_of(limit) + y lanes + l]. `out` is 64-byte aligned; lanes of no sum are left
  /// alone.
  void add(Index first, Index count, Index limit, Scratch& scratch, T* out) const;
  [[nodiscard]] Offset stride_of(Index limit) const;

 private:
  CsrView rows_;
  std::span<const Index> order_;
  int lanes_;
  Array<float> panels_[2];  ///< A and M of all ranks, in tiles
};

}  // namespace likewise
