// SPDX-License-Identifier: Apache-2.0
/// Lists of predictors that compute every score of a user.
#pragma once

#include <cstddef>
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

/// Whether one of the scores is not at the bar or below.
[[nodiscard]] inline bool any_beats(std::span<const float> scores, float bar) {
  unsigned beats = 0;  // no early end: a compiler makes vectors of this loop
  for (const float s : scores) beats |= s <= bar ? 0U : 1U;
  return beats != 0;
}

/// The n best of `items` items for each of so many users. `score(take)` has all scores taken, from
/// many threads, of one user by one at a time and with items rising.
template <class Score>
[[nodiscard]] TopKResult lists_of_scores(std::size_t users, Index items, Index n,
                                         const TopKFilter& filter, const Score& score) {
  TopKResult result = make_top_k_result(static_cast<Index>(users), n, items);
  std::vector<TopList> lists(users);
  for (TopList& list : lists) list.reset(static_cast<std::size_t>(result.k));
  score([&](std::size_t u, Index first, std::span<const float> scores) {
    if (!any_beats(scores, bar_of(lists[u]))) return;
    offer_scores(scores, first, static_cast<Index>(u), filter, lists[u]);
  });
  for (std::size_t u = 0; u < users; ++u) {
    write_answer(lists[u].finish(), static_cast<Index>(u), result);
  }
  return result;
}

}  // namespace likewise
