// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Throws Error(kNumerical) for a row with so many entries whose system has no such pivot.
[[noreturn]] void throw_singular_row(Offset count, Index pivot);

/// The system of one row, factored: A = U^T U in double precision.
class RowSystem {
 public:
  /// Factors `matrix` (width x width, upper triangle read). Throws Error(kNumerical) naming pivot
  /// and `count` (the entries of the row) when it is not positive definite.
  RowSystem(std::vector<double> matrix, Index width, Offset count);
  /// A^-1 b, in place.
  void solve(std::vector<double>& b) const;

 private:
  std::vector<double> upper_;  ///< row-major U; entries below the diagonal are not read
  Index width_;
};

}  // namespace likewise
