// SPDX-License-Identifier: Apache-2.0
/// `TitleSearch`: items by words of what they are called.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "likewise/csr.h"
#include "likewise/interactions.h"
#include "likewise/titles.h"
#include "likewise/types.h"

namespace likewise {

/// Text as it is compared: case folded, accents and other marks off, compatible letters alike
/// ("Amélie" -> "amelie", "ﬁ" -> "fi"). Bytes that are not UTF-8 stay as they are.
[[nodiscard]] std::string folded(std::string_view text);

/// Finds items whose title or id holds all words of a query. Looks at every title, about a
/// gigabyte a second. Immutable; thread-safe.
class TitleSearch {
 public:
  /// `weights`: one for each item, such as how many users have it; of several items that fit a
  /// query as well the heavier comes first. Titles may be empty: ids are searched alone.
  TitleSearch(const Titles& titles, const IdMap& items, std::vector<Offset> weights);

  /// The best n first: those whose title begins with the query, then those with a word that begins
  /// with its first word, then others; the heavier first, then the smaller index. A query without
  /// words finds all items.
  [[nodiscard]] std::vector<Index> find(std::string_view query, Index n) const;
  [[nodiscard]] Offset weight(Index item) const { return weights_[static_cast<std::size_t>(item)]; }

 private:
  [[nodiscard]] std::string_view text(Index item) const;

  std::string chars_;            ///< of each item its title and its id, a line end between them
  std::vector<Offset> offsets_;  ///< item i: chars_[offsets_[i], offsets_[i + 1])
  std::vector<Offset> weights_;
};

/// How many users have each item.
[[nodiscard]] std::vector<Offset> users_of_items(const CsrView& by_user);

}  // namespace likewise
