// SPDX-License-Identifier: Apache-2.0
/// Interactions that come one after the other, and parts of them with ids of their own.
#pragma once

#include <algorithm>
#include <random>
#include <set>
#include <vector>

#include "likewise/interactions.h"
#include "tests/support.h"

namespace likewise::test {

/// The entries of `all` with users and items named by their numbers; rows [first, last) only.
inline Interactions part_of(const std::vector<Entry>& all, std::size_t first, std::size_t last) {
  std::set<Index> users;
  std::set<Index> items;
  for (std::size_t e = first; e < last; ++e) users.insert(all[e].row), items.insert(all[e].col);
  const auto ids = [](const std::set<Index>& numbers) {
    std::vector<std::int64_t> sorted(numbers.begin(), numbers.end());
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(sorted));
  };
  Interactions part{ids(users), ids(items), {}, {}};
  std::vector<Entry> entries;
  for (std::size_t e = first; e < last; ++e) {
    entries.push_back({*part.users.find(std::int64_t{all[e].row}),
                       *part.items.find(std::int64_t{all[e].col}), all[e].value});
  }
  part.by_user = make_csr(part.users.size(), part.items.size(), entries);
  return part;
}

/// The entries of a random matrix in random order.
inline std::vector<Entry> shuffled_entries(Index users, Index items, double per_user) {
  const CsrMatrix m = random_csr(users, items, per_user, 11);
  std::vector<Entry> entries;
  for (Index u = 0; u < users; ++u) {
    for (Offset e = m.offsets[u]; e < m.offsets[u + 1]; ++e) {
      entries.push_back({u, m.columns[e], m.values[e]});
    }
  }
  std::shuffle(entries.begin(), entries.end(), std::mt19937_64(3));
  return entries;
}

}  // namespace likewise::test
