// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Pairs that have some rows in common.
struct PairBatch {
  std::vector<Index> rows;             ///< rising
  std::vector<std::size_t> starts;     ///< where the pairs of each begin in `order`, and the end
  std::span<const std::size_t> order;  ///< numbers of all pairs

  [[nodiscard]] std::span<const std::size_t> pairs_of(std::size_t row) const {
    return order.subspan(starts[row], starts[row + 1] - starts[row]);
  }
};

/// work(batch) for all pairs, in batches of at most `most` different rows.
template <class Work>
void for_pair_batches(std::span<const Index> rows, std::size_t most, const Work& work) {
  std::vector<std::size_t> order(rows.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t p) { return rows[p]; });
  for (std::size_t at = 0; at < order.size();) {
    PairBatch batch{{}, {}, order};
    for (; at < order.size(); ++at) {
      const Index row = rows[order[at]];
      if (!batch.rows.empty() && batch.rows.back() == row) continue;
      if (batch.rows.size() == most) break;
      batch.rows.push_back(row);
      batch.starts.push_back(at);
    }
    batch.starts.push_back(at);
    work(batch);
  }
}

}  // namespace likewise
