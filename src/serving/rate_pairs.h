// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "core/first_bad.h"
#include "likewise/types.h"

namespace likewise {

/// Ratings of pairs, in which -1 stands for a side that the model does not know: of_known(users,
/// items, out) writes those of pairs that it knows, fallback(user, item) is that of another.
template <class OfKnown, class Fallback>
[[nodiscard]] std::vector<float> rate_pairs(std::span<const Index> users,
                                            std::span<const Index> items, const OfKnown& of_known,
                                            const Fallback& fallback) {
  std::vector<float> ratings(users.size());
  const auto is_known = [&](std::size_t p) { return users[p] >= 0 && items[p] >= 0; };
  const Offset unknown = first_bad(
      std::ssize(users), [&](Offset p) { return !is_known(static_cast<std::size_t>(p)); });
  if (unknown < 0) {
    if (!ratings.empty()) of_known(users, items, ratings.data());
    return ratings;
  }
  std::vector<std::size_t> known;
  std::vector<Index> known_users;
  std::vector<Index> known_items;
  for (std::size_t p = 0; p < users.size(); ++p) {
    if (!is_known(p)) {
      ratings[p] = fallback(users[p], items[p]);
      continue;
    }
    known.push_back(p);
    known_users.push_back(users[p]);
    known_items.push_back(items[p]);
  }
  std::vector<float> found(known.size());
  if (!found.empty()) of_known(known_users, known_items, found.data());
  for (std::size_t i = 0; i < found.size(); ++i) ratings[known[i]] = found[i];
  return ratings;
}

}  // namespace likewise
