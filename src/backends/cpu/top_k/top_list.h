// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "backends/top_k.h"

namespace likewise {

/// The k best candidates offered so far. Short lists are kept sorted (an insertion moves a few
/// entries of one cache line or two), long ones as a heap with the worst in front.
class TopList {
 public:
  void reset(std::size_t k) {
    k_ = k;
    kept_.clear();
    kept_.reserve(k);
  }
  [[nodiscard]] bool full() const { return kept_.size() == k_; }
  /// The entry that the next one has to beat; only when full and k > 0.
  [[nodiscard]] const Candidate& worst() const { return sorted() ? kept_.back() : kept_.front(); }

  void offer(const Candidate& candidate) {
    if (full()) {
      if (!before(candidate, worst())) return;
      if (!sorted()) std::pop_heap(kept_.begin(), kept_.end(), before);
      kept_.back() = candidate;
    } else {
      kept_.push_back(candidate);
    }
    sorted() ? sink_last() : std::push_heap(kept_.begin(), kept_.end(), before);
  }

  /// Best first; ends the list.
  [[nodiscard]] std::span<const Candidate> finish() {
    if (!sorted()) std::sort(kept_.begin(), kept_.end(), before);
    return kept_;
  }

 private:
  static constexpr std::size_t kSortedUpTo = 64;
  [[nodiscard]] bool sorted() const { return k_ <= kSortedUpTo; }
  void sink_last() {
    const Candidate candidate = kept_.back();
    std::size_t at = kept_.size() - 1;
    for (; at > 0 && before(candidate, kept_[at - 1]); --at) kept_[at] = kept_[at - 1];
    kept_[at] = candidate;
  }

  std::size_t k_ = 0;
  std::vector<Candidate> kept_;
};

}  // namespace likewise
