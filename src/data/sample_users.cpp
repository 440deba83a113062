// SPDX-License-Identifier: Apache-2.0
#include "data/sample_users.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "core/random.h"
#include "data/select.h"

namespace likewise {
namespace {

/// Random numbers: beside those of src/tuning/search_space.cpp.
constexpr std::uint32_t kUsers = 0x75736572;

}  // namespace

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
