// SPDX-License-Identifier: Apache-2.0
/// Small matrices, written down entry by entry.
#pragma once

#include <span>
#include <vector>

#include "likewise/make_interactions.h"

namespace likewise::test {

struct Entry {
  Index row;
  Index col;
  float value;
};

/// Sorted rows from entries in any order without duplicates.
inline CsrMatrix make_csr(Index rows, Index cols, std::span<const Entry> entries) {
  if (entries.empty()) return {rows, cols, Array<Offset>(Offset{rows} + 1), {}, {}};
  std::vector<Index> users;
  std::vector<Index> items;
  std::vector<float> values;
  for (const Entry& entry : entries) {
    users.push_back(entry.row);
    items.push_back(entry.col);
    values.push_back(entry.value);
  }
  return make_interactions(IndexColumn{users, rows}, IndexColumn{items, cols}, values, {},
                           {.duplicates = Duplicates::kError})
      .by_user;
}

}  // namespace likewise::test
