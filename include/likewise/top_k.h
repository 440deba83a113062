// SPDX-License-Identifier: Apache-2.0
/// `TopKResult`: the best items of a batch of queries.
#pragma once

#include "likewise/array.h"
#include "likewise/types.h"

namespace likewise {

/// Top-k answers for `queries` queries: entries [q k, q k + counts[q]) are the answers of query q,
/// best first, ties to the smaller item. counts[q] < k when fewer items are left than asked for.
struct TopKResult {
  Index k = 0;
  Array<Index> items;
  Array<float> scores;
  Array<Index> counts;
};

}  // namespace likewise
