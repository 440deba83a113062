// SPDX-License-Identifier: Apache-2.0
#include "tuning/validation_sample.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/select.h"

namespace likewise {
namespace {

/// Random numbers: beside those of src/tuning/search_space.cpp.
constexpr std::uint32_t kUsers = 0x75736572;

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

Index users_with_entries(const CsrView& by_user) {
  Index users = 0;
  for (Index user = 0; user < by_user.rows; ++user) users += by_user.row_size(user) > 0 ? 1 : 0;
  return users;
}

Interactions sample_users(const Interactions& part, Index users, std::uint64_t seed) {
  const CsrView rows = part.by_user.view();
  std::vector<std::pair<std::uint64_t, Index>> drawn;
  for (Index user = 0; user < rows.rows; ++user) {
    if (rows.row_size(user) == 0) continue;
    drawn.emplace_back(CounterRandom(seed, kUsers, static_cast<std::uint64_t>(user)).next_u64(),
                       user);
  }
  const auto count = std::min(static_cast<std::size_t>(users), drawn.size());
  std::ranges::nth_element(drawn, drawn.begin() + static_cast<std::ptrdiff_t>(count));
  std::vector<char> taken(static_cast<std::size_t>(rows.rows));
  for (std::size_t i = 0; i < count; ++i) taken[static_cast<std::size_t>(drawn[i].second)] = 1;
  Interactions sample =
      select(part, [&](Index user, Offset) { return taken[static_cast<std::size_t>(user)] != 0; });
  sample.users = part.users.share();
  sample.items = part.items.share();
  return sample;
}

}  // namespace likewise
