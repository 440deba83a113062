// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <span>
#include <type_traits>
#include <utility>
#include <vector>

#include "retrieval/top_k.h"

namespace likewise {

/// The k best entries offered so far. Short lists are kept sorted (an insertion moves a few
/// entries of one cache line or two), long ones as a heap with the worst in front.
template <class Entry, class Before>
class BestList {
 public:
  explicit BestList(Before order = {}) : before_(std::move(order)) {}

  void reset(std::size_t k) {
    k_ = k;
    kept_.clear();
    kept_.reserve(k);
  }
  [[nodiscard]] bool full() const { return kept_.size() == k_; }
  /// The entry that the next one has to beat; only when full and k > 0.
  [[nodiscard]] const Entry& worst() const { return sorted() ? kept_.back() : kept_.front(); }

  void offer(const Entry& entry) {
    if (full()) {
      if (!before_(entry, worst())) return;
      if (!sorted()) std::pop_heap(kept_.begin(), kept_.end(), before_);
      kept_.back() = entry;
    } else {
      kept_.push_back(entry);
    }
    sorted() ? sink_last() : std::push_heap(kept_.begin(), kept_.end(), before_);
  }

  /// Best first; ends the list.
  [[nodiscard]] std::span<const Entry> finish() {
    if (!sorted()) std::sort(kept_.begin(), kept_.end(), before_);
    return kept_;
  }

 private:
  static constexpr std::size_t kSortedUpTo = 64;
  [[nodiscard]] bool sorted() const { return k_ <= kSortedUpTo; }
  void sink_last() {
    const Entry entry = kept_.back();
    std::size_t at = kept_.size() - 1;
    for (; at > 0 && before_(entry, kept_[at - 1]); --at) kept_[at] = kept_[at - 1];
    kept_[at] = entry;
  }

  std::size_t k_ = 0;
  std::vector<Entry> kept_;
  [[no_unique_address]] Before before_;
};

using TopList = BestList<Candidate, std::remove_const_t<decltype(before)>>;

/// What scores of items further on have to be above: NaN, which nothing is below, until the list is
/// full.
[[nodiscard]] inline float bar_of(const TopList& list) {
  return list.full() ? list.worst().score : std::numeric_limits<float>::quiet_NaN();
}

/// Offers the list of `query` items first, first + 1, ... with these scores, but those that the
/// filter takes out. Items have to come rising.
inline void offer_scores(std::span<const float> scores, Index first, Index query,
                         const TopKFilter& filter, TopList& list) {
  std::span<const Index> taken;
  if (filter.excluded.rows > 0) taken = filter.excluded.row_columns(query);
  float bar = bar_of(list);
  for (std::size_t i = 0; i < scores.size(); ++i) {
    if (scores[i] <= bar) continue;
    const Index item = first + static_cast<Index>(i);
    const bool open = filter.allowed.empty() || filter.allowed[static_cast<std::size_t>(item)] != 0;
    if (!open || std::ranges::binary_search(taken, item)) continue;
    list.offer({scores[i], item});
    bar = bar_of(list);
  }
}

}  // namespace likewise
