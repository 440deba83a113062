// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Pairs of which the model knows both sides, and the others.
struct KnownPairs {
  std::vector<std::size_t> numbers;  ///< of those that it knows, rising
  std::vector<Index> users;
  std::vector<Index> items;
  std::vector<std::size_t> others;

  /// -1 stands for an unknown side.
  KnownPairs(std::span<const Index> all_users, std::span<const Index> all_items) {
    for (std::size_t p = 0; p < all_users.size(); ++p) {
      if (all_users[p] < 0 || all_items[p] < 0) {
        others.push_back(p);
        continue;
      }
      numbers.push_back(p);
      users.push_back(all_users[p]);
      items.push_back(all_items[p]);
    }
  }
};

}  // namespace likewise
