// SPDX-License-Identifier: Apache-2.0
#include "tuning/validation_sample.h"

#include <algorithm>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "core/places_of.h"
#include "data/select.h"
#include "likewise/error.h"

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

std::optional<Interactions> of_known_users(const Interactions& part, const Interactions& training,
                                           bool same_users, Index& without_history) {
  const CsrView rows = part.by_user.view();
  std::vector<Index> places;
  if (!same_users) places = places_of(part.users, training.users);
  std::vector<char> stays(static_cast<std::size_t>(rows.rows));
  Index users = 0;
  Index strangers = 0;
  without_history = 0;
  for (Index user = 0; user < rows.rows; ++user) {
    if (rows.row_size(user) == 0) continue;
    const Index place = same_users ? user : places[static_cast<std::size_t>(user)];
    const bool known = place >= 0 && training.by_user.view().row_size(place) > 0;
    stays[static_cast<std::size_t>(user)] = known ? 1 : 0;
    ++users;
    strangers += place < 0 ? 1 : 0;
    without_history += known ? 0 : 1;
  }
  if (without_history == 0 || strangers == users) return std::nullopt;
  if (without_history == users) {
    throw Error(ErrorKind::kBadData,
                fmt::format("nothing to rank: of {} of the validation part none has a history in "
                            "the training part; hold out another part",
                            counted(users, "user")));
  }
  Interactions kept =
      select(part, [&](Index user, Offset) { return stays[static_cast<std::size_t>(user)] != 0; });
  kept.users = part.users.share();
  kept.items = part.items.share();
  return kept;
}

Index users_to_validate(const CsrView& training, Index users, const TrainingParams& als) {
  const double factors = std::stod(parameter_text(als, "factors"));
  const double of_user = static_cast<double>(training.cols) * factors;
  const double fit = kEvaluationShare * additions_of_iteration(training, factors) / of_user;
  return fit < users ? std::min(users, std::max(kFewestSampled, static_cast<Index>(fit))) : users;
}

}  // namespace likewise
