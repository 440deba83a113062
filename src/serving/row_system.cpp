// SPDX-License-Identifier: Apache-2.0
#include "serving/row_system.h"

#include <utility>

#include <fmt/format.h>

#include "core/linalg/cholesky.h"
#include "likewise/error.h"

namespace likewise {

void throw_singular_row(Offset count, Index pivot) {
  throw Error(
      ErrorKind::kNumerical,
      fmt::format("the system of a row with {} entries is singular (pivot {}): train with more "
                  "regularization",
                  count, pivot));
}

RowSystem::RowSystem(std::vector<double> matrix, Index width, Offset count)
    : upper_(std::move(matrix)), width_(width) {
  const Index pivot = cholesky_factor(upper_.data(), width);
  if (pivot >= 0) throw_singular_row(count, pivot);
}

void RowSystem::solve(std::vector<double>& b) const {
  cholesky_solve(upper_.data(), width_, b.data());
}

}  // namespace likewise
