// SPDX-License-Identifier: Apache-2.0
/// Lists of predictors that compute every score of a user.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "backends/jobs/top_k.h"
#include "retrieval/top_k.h"
#include "retrieval/top_list.h"

namespace likewise {

/// scores[i] is what the user `position` (in the order asked) would give item first + i.
using TakeScores =
    std::function<void(std::size_t position, Index first, std::span<const float> scores)>;

/// The n best of `items` items for each of so many users. `score(take)` has all scores taken, from
/// many threads, of one user by one at a time and with items rising.
template <class Score>
[[nodiscard]] TopKResult lists_of_scores(std::size_t users, Index items, Index n,
                                         const TopKFilter& filter, const Score& score) {
  const CsrView& seen = filter.excluded;
  const std::span<const std::uint8_t> allowed = filter.allowed;
  TopKResult result = make_top_k_result(static_cast<Index>(users), n, items);
  std::vector<TopList> lists(users);
  for (TopList& list : lists) list.reset(static_cast<std::size_t>(result.k));
  score([&](std::size_t u, Index first, std::span<const float> scores) {
    std::span<const Index> taken;
    if (seen.rows > 0) taken = seen.row_columns(static_cast<Index>(u));
    auto next = std::ranges::lower_bound(taken, first);
    for (std::size_t i = 0; i < scores.size(); ++i) {
      const Index item = first + static_cast<Index>(i);
      if (next != taken.end() && *next == item) {
        ++next;
      } else if (allowed.empty() || allowed[static_cast<std::size_t>(item)] != 0) {
        lists[u].offer({scores[i], item});
      }
    }
  });
  for (std::size_t u = 0; u < users; ++u) {
    write_answer(lists[u].finish(), static_cast<Index>(u), result);
  }
  return result;
}

}  // namespace likewise
