// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
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

}  // namespace likewise
