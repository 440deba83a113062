// SPDX-License-Identifier: Apache-2.0
#include "tuning/validation_sample.h"

#include <algorithm>
#include <string>

namespace likewise {
namespace {

/// Lists come from products of large matrices, iterations from many small ones: of the same number
/// of additions lists are the faster ones.
constexpr double kEvaluationShare = 4.0;

/// Of an iteration: the upper half of the matrix of each entry's row, for both sides, and a
/// Cholesky factorisation for each row.
[[nodiscard]] double additions_of_iteration(const CsrView& data, double factors) {
  const double rows = static_cast<double>(data.rows) + data.cols;
  return static_cast<double>(data.nnz()) * factors * factors +
         rows * factors * factors * factors / 6.0;
}

}  // namespace

Index users_to_validate(const CsrView& training, Index users, const TrainingParams& als) {
  const double factors = std::stod(parameter_text(als, "factors"));
  const double of_user = static_cast<double>(training.cols) * factors;
  const double fit = kEvaluationShare * additions_of_iteration(training, factors) / of_user;
  return fit < users ? std::min(users, std::max(kFewestSampled, static_cast<Index>(fit))) : users;
}

}  // namespace likewise
