// SPDX-License-Identifier: Apache-2.0
#include "serving/row_system.h"

#include <utility>

#include <fmt/format.h>

#include "core/cholesky.h"
#include "likewise/error.h"

namespace likewise {

RowSystem::RowSystem(std::vector<double> matrix, Index width, Offset count)
    : upper_(std::move(matrix)), width_(width) {
  const Index k = cholesky_factor(upper_.data(), width);
  if (k < 0) return;
  throw Error(ErrorKind::kNumerical,
              fmt::format("the system of a row with {} entries is singular (pivot {} is {}): "
                          "train with more regularization",
                          count, k, upper_[static_cast<std::size_t>(Offset{k} * (width + 1))]));
}

void RowSystem::solve(std::vector<double>& b) const {
  cholesky_solve(upper_.data(), width_, b.data());
}

}  // namespace likewise
