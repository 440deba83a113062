// SPDX-License-Identifier: Apache-2.0
#include "evaluation/candidates.h"

#include <algorithm>
#include <iterator>
#include <unordered_set>

#include <fmt/format.h>

#include "core/random.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void fail(ErrorKind kind, const std::string& why) { throw Error(kind, why); }

/// `count` of the numbers below `bound`, without repeats: Floyd's algorithm (J. Bentley, R. Floyd,
/// A sample of brilliance, CACM 30(9), 1987).
std::vector<Index> sample(CounterRandom& random, Index bound, Index count) {
  std::unordered_set<Index> drawn;
  for (Index top = bound - count; top < bound; ++top) {
    const auto number = static_cast<Index>(random.below(static_cast<std::uint64_t>(top) + 1));
    if (!drawn.insert(number).second) drawn.insert(top);
  }
  return {drawn.begin(), drawn.end()};
}

/// The item that has `rank` items before it which are not in `excluded` (rising).
Index item_at(Index rank, std::span<const Index> excluded) {
  Index below = 0;
  Index above = static_cast<Index>(excluded.size());
  while (below < above) {
    const Index middle = below + (above - below) / 2;
    if (excluded[static_cast<std::size_t>(middle)] - middle > rank) {
      above = middle;
    } else {
      below = middle + 1;
    }
  }
  return rank + below;
}

}  // namespace

void check_candidates(const EvaluateOptions& options, Index users, Index items) {
  if (options.candidates != nullptr && options.negatives != 0) {
    fail(ErrorKind::kInvalidArgument,
         "candidates and negatives exclude each other: both say what is ranked");
  }
  if (options.negatives < 0) {
    fail(ErrorKind::kInvalidArgument,
         fmt::format("negatives is {}: it must be 1 or more", options.negatives));
  }
  if (options.candidates == nullptr) return;
  const CsrView& given = *options.candidates;
  if (given.rows == users && given.cols == items) return;
  fail(ErrorKind::kInvalidArgument,
       fmt::format("candidates is {} x {}, the model has {} users and {} items: bring it into the "
                   "model's indices with make_test_set",
                   given.rows, given.cols, users, items));
}

CandidateLists::CandidateLists(const Relevance& relevance, const CsrView& test, const CsrView& seen,
                               const EvaluateOptions& options)
    : test_(test), seen_(seen), options_(options) {
  lists_.offsets.push_back(0);
  options.candidates != nullptr ? name_candidates(relevance) : one_list_for_each_item(relevance);
}

void CandidateLists::name_candidates(const Relevance& relevance) {
  for (Offset at = 0; at < relevance.size(); ++at) {
    const Index user = relevance.users[static_cast<std::size_t>(at)];
    const std::vector<Index> candidates = unseen_candidates(user);
    if (candidates.empty()) {
      ++users_without_;
      continue;
    }
    const auto relevant = relevance.of(at);
    for (const Index item : relevant) {
      relevant_no_candidates_ += std::ranges::binary_search(candidates, item) ? 0 : 1;
    }
    longest_ = std::max(longest_, std::ssize(candidates));
    lists_.users.push_back(user);
    lists_.items.insert(lists_.items.end(), relevant.begin(), relevant.end());
    lists_.offsets.push_back(std::ssize(lists_.items));
    lists_.users_without_history += row_or_nothing(seen_, user).empty() ? 1 : 0;
  }
  if (lists_.users.empty()) {
    fail(ErrorKind::kBadData,
         fmt::format("nothing to rank: none of the {} users with a relevant test item has a "
                     "candidate that is in the model and not seen",
                     relevance.size()));
  }
  if (relevant_no_candidates_ == std::ssize(lists_.items)) {
    fail(ErrorKind::kBadData,
         fmt::format("nothing to find: none of the {} relevant test items is a candidate of its "
                     "user; candidates have to hold the held-out items, too",
                     relevant_no_candidates_));
  }
}

void CandidateLists::one_list_for_each_item(const Relevance& relevance) {
  for (Offset at = 0; at < relevance.size(); ++at) {
    for (const Index item : relevance.of(at)) {
      lists_.users.push_back(relevance.users[static_cast<std::size_t>(at)]);
      lists_.items.push_back(item);
      lists_.offsets.push_back(std::ssize(lists_.items));
    }
  }
  lists_.users_without_history = relevance.users_without_history;
  longest_ = std::min<Offset>(Offset{options_.negatives} + 1, test_.cols);
}

std::vector<Index> CandidateLists::items(Offset list) const {
  const Index user = lists_.users[static_cast<std::size_t>(list)];
  return options_.candidates != nullptr ? unseen_candidates(user)
                                        : item_and_sample(user, lists_.of(list).front());
}

std::vector<Index> CandidateLists::unseen_candidates(Index user) const {
  std::vector<Index> items;
  std::ranges::set_difference(options_.candidates->row_columns(user), row_or_nothing(seen_, user),
                              std::back_inserter(items));
  return items;
}

std::vector<Index> CandidateLists::item_and_sample(Index user, Index item) const {
  std::vector<Index> taken;
  std::ranges::set_union(test_.row_columns(user), row_or_nothing(seen_, user),
                         std::back_inserter(taken));
  const Index left = test_.cols - static_cast<Index>(taken.size());
  const std::uint64_t row =
      (static_cast<std::uint64_t>(user) << 32) + static_cast<std::uint64_t>(item);
  CounterRandom random(options_.seed, kStreamEvaluationNegatives, row);
  std::vector<Index> items = sample(random, left, std::min(left, options_.negatives));
  for (Index& drawn : items) drawn = item_at(drawn, taken);
  items.push_back(item);
  std::ranges::sort(items);
  return items;
}

}  // namespace likewise
