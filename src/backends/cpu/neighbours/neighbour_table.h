// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "backends/top_k.h"
#include "likewise/array.h"

namespace likewise {

/// The k best of every row while the search goes on. Offers may come from any thread, in any
/// order: the order of candidates is total, so the lists are the same.
class NeighbourTable {
 public:
  /// What a thread has to offer, gathered so that a lock and the lists behind it serve many at
  /// once.
  class Offers {
   private:
    friend NeighbourTable;
    struct Offer {
      Index row;
      Candidate candidate;
    };
    std::array<std::vector<Offer>, 64> stripes_;
  };

  NeighbourTable(Index rows, Index k)
      : k_(k),
        rows_of_stripe_(rows / static_cast<Index>(kStripes) + 1),
        kept_(Array<Candidate>::uninitialized(Offset{rows} * k)),
        counts_(rows),
        thresholds_(static_cast<std::size_t>(rows), std::numeric_limits<float>::lowest()) {}

  /// Scores below this have no place in the row's list. Constant between raise_thresholds(), so
  /// that it can be read while offers come in.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }
  /// Only while no offers come.
  void raise_thresholds() {
    for (std::size_t row = 0; row < thresholds_.size(); ++row) {
      const auto index = static_cast<Index>(row);
      if (counts_[index] == k_) thresholds_[row] = list(index)[0].score;
    }
  }

  void offer(Offers& offers, Index row, const Candidate& candidate) {
    const std::size_t stripe = stripe_of(row);
    auto& waiting = offers.stripes_[stripe];
    waiting.push_back({row, candidate});
    if (waiting.size() == kOffersKept) insert_all(waiting, stripe);
  }
  void offer(Index row, std::span<const Candidate> candidates) {
    const std::lock_guard lock(locks_[stripe_of(row)]);
    for (const Candidate& one : candidates) insert(row, one);
  }
  /// Offers that are not in the lists yet.
  void finish(Offers& offers) {
    for (std::size_t stripe = 0; stripe < kStripes; ++stripe) {
      insert_all(offers.stripes_[stripe], stripe);
    }
  }

  /// Best first. The last call for a row.
  void sort(Index row) { std::sort_heap(list(row), list(row) + counts_[row], before); }
  [[nodiscard]] std::span<const Candidate> sorted(Index row) const {
    return {kept_.data() + Offset{row} * k_, static_cast<std::size_t>(counts_[row])};
  }

 private:
  static constexpr std::size_t kStripes = std::tuple_size_v<decltype(Offers::stripes_)>;
  static constexpr std::size_t kOffersKept = 128;

  [[nodiscard]] std::size_t stripe_of(Index row) const {
    return static_cast<std::size_t>(row / rows_of_stripe_);
  }
  [[nodiscard]] Candidate* list(Index row) { return kept_.data() + Offset{row} * k_; }

  void insert_all(std::vector<Offers::Offer>& waiting, std::size_t stripe) {
    const std::lock_guard lock(locks_[stripe]);
    for (const auto& one : waiting) insert(one.row, one.candidate);
    waiting.clear();
  }

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
  Index rows_of_stripe_;
  Array<Candidate> kept_;
  Array<Index> counts_;
  std::vector<float> thresholds_;
  std::array<std::mutex, kStripes> locks_;
};

}  // namespace likewise
