// SPDX-License-Identifier: Apache-2.0
/// Why an item that nobody has touched: its tags.
#pragma once

#include <vector>

#include "likewise/query.h"

namespace likewise {

/// The tags of `item` that speak for it to somebody with this history, largest share first, so many
/// at most. The share of a tag is  s_t w_t . x  with the user's factors x as fold-in gives them.
[[nodiscard]] std::vector<Reason> tag_reasons(const Recommender& recommender,
                                              const FoldInRow& history, Index item, int most);

}  // namespace likewise
