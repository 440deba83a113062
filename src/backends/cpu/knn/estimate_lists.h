// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <span>
#include <vector>

#include "likewise/array.h"
#include "retrieval/top_k.h"

namespace likewise {

/// The candidates of every row: the k best by estimate, and all that may be as good as the last of
/// them. Different rows may be used from different threads.
class EstimateLists {
 public:
  /// Estimates are off by `error` at most, so the higher of two that are more than twice that apart
  /// belongs to the better candidate. Those below `lowest` are worth nothing.
  EstimateLists(Index rows, Index k, float lowest, float error)
      : k_(k),
        room_(k + std::max(kSpareRoom, k / 2)),
        error_(error),
        kept_(Array<Candidate>::uninitialized(Offset{rows} * room_)),
        counts_(rows),
        thresholds_(static_cast<std::size_t>(rows), lowest) {}

  /// Estimates below these need not be offered.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }

  void offer(Index row, const Candidate& candidate) {
    if (!(candidate.score >= thresholds_[static_cast<std::size_t>(row)])) return;
    kept_[Offset{row} * room_ + counts_[row]++] = candidate;
    if (counts_[row] == room_) shorten(row);
  }

  /// Whether more candidates came within reach than there is room for: there are none then.
  [[nodiscard]] bool overflowed(Index row) const { return counts_[row] == kTooMany; }
  /// In no order, with room for k. Ends the list: the caller may write over it.
  [[nodiscard]] std::span<Candidate> finish(Index row) {
    if (counts_[row] > k_) shorten(row);
    const Index count = overflowed(row) ? 0 : counts_[row];
    return {kept_.data() + Offset{row} * room_, static_cast<std::size_t>(count)};
  }

 private:
  static constexpr Index kSpareRoom = 128;
  static constexpr Index kTooMany = -1;

  /// Drops what is out of reach of the k best.
  void shorten(Index row) {
    Candidate* const first = kept_.data() + Offset{row} * room_;
    Candidate* const end = first + counts_[row];
    const auto higher = [](const Candidate& a, const Candidate& b) { return a.score > b.score; };
    float& threshold = thresholds_[static_cast<std::size_t>(row)];
    // What may be 0 may be no neighbour: it does not count among the k.
    Candidate* const sure = std::partition(
        first, end, [&](const Candidate& one) { return std::abs(one.score) > error_; });
    if (sure - first >= k_) {
      std::nth_element(first, first + k_ - 1, sure, higher);
      threshold = std::max(threshold, first[k_ - 1].score - 2.0F * error_);
    }
    Candidate* const last =
        std::partition(first, end, [&](const Candidate& one) { return one.score >= threshold; });
    counts_[row] = static_cast<Index>(last - first);
    // To shorten again and again for little room would take longer than to start again.
    if (counts_[row] <= room_ - kSpareRoom / 4) return;
    threshold = std::numeric_limits<float>::infinity();
    counts_[row] = kTooMany;
  }

  Index k_;
  Index room_;
  float error_;
  Array<Candidate> kept_;
  Array<Index> counts_;
  std::vector<float> thresholds_;
};

}  // namespace likewise
