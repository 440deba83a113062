// SPDX-License-Identifier: Apache-2.0
/// Nonnegative least squares of one row, from its normal equations, in double precision.
#pragma once

#include <span>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Minimises x^T A x - 2 b^T x over all x whose first `bounded` numbers are not negative, by block
/// principal pivoting (Portugal, Judice, Vicente 1994; Kim and Park 2011): some unknowns are free,
/// the others 0; those whose sign is wrong change places until none is. Exact but for rounding.
/// Buffers of one thread.
class NonnegativeSolver {
 public:
  NonnegativeSolver(Index width, Index bounded);

  /// `a` is width x width, row by row, of which the upper triangle is read. `x` holds a guess, of
  /// which signs matter alone, and gets the solution. Returns -1, or the column whose pivot is not
  /// positive: A is not positive definite then, or so nearly that rounding decides, and `x` is
  /// undefined.
  [[nodiscard]] Index solve(std::span<const double> a, std::span<const double> b,
                            std::span<double> x);
  /// x^T A x - 2 b^T x.
  [[nodiscard]] double objective(std::span<const double> a, std::span<const double> b,
                                 std::span<const double> x) const;

 private:
  [[nodiscard]] double at(std::span<const double> a, std::size_t i, std::size_t j) const {
    return i <= j ? a[i * width_ + j] : a[j * width_ + i];
  }
  [[nodiscard]] Index solve_free(std::span<const double> a, std::span<const double> b,
                                 std::span<double> x);
  void find_wrong(std::span<const double> a, std::span<const double> b, std::span<const double> x);
  void exchange(std::size_t count);

  std::size_t width_;
  std::size_t bounded_;
  std::vector<char> is_free_;
  std::vector<std::size_t> free_;
  std::vector<std::size_t> wrong_;  ///< of the wrong sign, rising
  std::vector<double> factored_;
  std::vector<double> solution_;
};

}  // namespace likewise
