// SPDX-License-Identifier: Apache-2.0
/// Pair sums by dense products, for matrices that are nearly full. With A the weights of all rows
/// (0 where there is none), M their pattern (1 or 0) and S = A^2:
///
///     n = M M^T   x = A M^T   y = M A^T   xx = S M^T   yy = M S^T   xy = A A^T
///
/// Exact, and so the same as one entry after the other, where sums in float32 are.
#pragma once

#include <span>
#include <vector>

#include "likewise/csr.h"
#include "likewise/matrix.h"

namespace likewise {

class DensePairs {
 public:
  /// `lanes`: 1 for xy; 4 for n, xx, yy, xy; 8 for n, x, y, xx, yy, xy and two zeros.
  DensePairs(const CsrView& rows, std::span<const Index> order, int lanes);

  /// Whether it takes less time than `pairs` common entries one by one.
  [[nodiscard]] static bool pays(const CsrView& rows, double pairs, int lanes);

  /// Sums of the rows of ranks [first, first + count) with those of ranks [0, limit):
  /// out[(r limit + y) lanes + l].
  void add(Index first, Index count, Index limit, std::vector<float>& out) const;

 private:
  enum Part { kWeights, kPattern, kSquares };
  [[nodiscard]] bool has(Part part) const { return part == kWeights || lanes_ > 1; }
  void fill(Part part, Index rank, float* row, Offset stride) const;

  CsrView rows_;
  std::span<const Index> order_;
  int lanes_;
  Matrix by_column_[3];  ///< columns x ranks
};

}  // namespace likewise
