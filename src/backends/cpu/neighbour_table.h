// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <span>
#include <vector>

#include "backends/top_k.h"
#include "likewise/array.h"

namespace likewise {

/// An offer for the list of `row`.
struct Offer {
  Index row;
  Candidate candidate;
};

/// The k best of every row while the search goes on. Offers may come from any thread, in any
/// order: the order of candidates is total, so the lists are the same.
class NeighbourTable {
 public:
  NeighbourTable(Index rows, Index k)
      : k_(k),
        kept_(Array<Candidate>::uninitialized(Offset{rows} * k)),
        counts_(rows),
        thresholds_(static_cast<std::size_t>(rows), std::numeric_limits<float>::lowest()) {}

  /// Scores below this have no place in the row's list. Stands still between raise_thresholds(),
  /// so that it can be read while offers come in.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }
  /// Only while no offers come.
  void raise_thresholds() {
    for (std::size_t row = 0; row < thresholds_.size(); ++row) {
      const auto index = static_cast<Index>(row);
      if (counts_[index] == k_) thresholds_[row] = list(index)[0].score;
    }
  }

  void offer(std::span<const Offer> offers) {
    for (const Offer& one : offers) {
      const std::lock_guard lock(lock_of(one.row));
      insert(one.row, one.candidate);
    }
  }
  void offer(Index row, std::span<const Candidate> candidates) {
    const std::lock_guard lock(lock_of(row));
    for (const Candidate& one : candidates) insert(row, one);
  }

  /// Best first. The last call for a row.
  void sort(Index row) { std::sort_heap(list(row), list(row) + counts_[row], before); }
  [[nodiscard]] std::span<const Candidate> sorted(Index row) const {
    return {kept_.data() + Offset{row} * k_, static_cast<std::size_t>(counts_[row])};
  }

 private:
  static constexpr std::size_t kLocks = 1024;

  [[nodiscard]] std::mutex& lock_of(Index row) {
    return locks_[static_cast<std::size_t>(row) % kLocks];
  }
  [[nodiscard]] Candidate* list(Index row) { return kept_.data() + Offset{row} * k_; }

  /// A heap with the worst in front.
  void insert(Index row, const Candidate& candidate) {
    Candidate* const first = list(row);
    Index& count = counts_[row];
    if (count < k_) {
      first[count++] = candidate;
      std::push_heap(first, first + count, before);
    } else if (before(candidate, first[0])) {
      std::pop_heap(first, first + count, before);
      first[count - 1] = candidate;
      std::push_heap(first, first + count, before);
    }
  }

  Index k_;
  Array<Candidate> kept_;
  Array<Index> counts_;
  std::vector<float> thresholds_;
  std::array<std::mutex, kLocks> locks_;
};

}  // namespace likewise
