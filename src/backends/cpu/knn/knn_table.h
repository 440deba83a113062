// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <limits>
#include <mutex>
#include <span>
#include <tuple>
#include <vector>

#include "likewise/array.h"
#include "retrieval/nearest_rows.h"

namespace likewise {

/// The k nearest of every row, by rank, while the search goes on. Offers may come from any thread,
/// in any order: the order of neighbours is total, so the lists are the same.
class KnnTable {
 public:
  /// What a thread has to offer, gathered so that a lock and the lists behind it serve many at
  /// once.
  class Offers {
   private:
    friend KnnTable;
    struct Offer {
      Index rank;
      NearRow candidate;
    };
    std::array<std::vector<Offer>, 64> stripes_;
  };

  /// `order`: rank -> row. Both must outlive the table.
  KnnTable(const CsrView& rows, std::span<const Index> order, Index k)
      : rows_(rows),
        order_(order),
        k_(k),
        ranks_of_stripe_(rows.rows / static_cast<Index>(kStripes) + 1),
        kept_(Array<NearRow>::uninitialized(Offset{rows.rows} * k)),
        counts_(rows.rows),
        thresholds_(order.size(), std::numeric_limits<float>::lowest()) {}

  /// The order of a row's list.
  [[nodiscard]] NearerTo nearer_to(Index rank) const {
    return {rows_.row_columns(order_[static_cast<std::size_t>(rank)]), rows_};
  }

  /// Scores below this have no place in the row's list. Constant between raise_thresholds(), so
  /// that it can be read while offers come in.
  [[nodiscard]] std::span<const float> thresholds() const { return thresholds_; }
  /// Only while no offers come.
  void raise_thresholds() {
    for (std::size_t rank = 0; rank < thresholds_.size(); ++rank) {
      const auto index = static_cast<Index>(rank);
      if (counts_[index] == k_) thresholds_[rank] = list(index)[0].score;
    }
  }

  void offer(Offers& offers, Index rank, const NearRow& candidate) {
    const std::size_t stripe = stripe_of(rank);
    auto& waiting = offers.stripes_[stripe];
    waiting.push_back({rank, candidate});
    if (waiting.size() == kOffersKept) insert_all(waiting, stripe);
  }
  void offer(Index rank, std::span<const NearRow> candidates) {
    const std::lock_guard lock(locks_[stripe_of(rank)]);
    for (const NearRow& one : candidates) insert(rank, one);
  }
  /// Offers that are not in the lists yet.
  void finish(Offers& offers) {
    for (std::size_t stripe = 0; stripe < kStripes; ++stripe) {
      insert_all(offers.stripes_[stripe], stripe);
    }
  }

  /// Nearest first. The last call for a row.
  void sort(Index rank) { std::sort_heap(list(rank), list(rank) + counts_[rank], nearer_to(rank)); }
  [[nodiscard]] std::span<const NearRow> sorted(Index rank) const {
    return {kept_.data() + Offset{rank} * k_, static_cast<std::size_t>(counts_[rank])};
  }

 private:
  static constexpr std::size_t kStripes = std::tuple_size_v<decltype(Offers::stripes_)>;
  static constexpr std::size_t kOffersKept = 128;

  [[nodiscard]] std::size_t stripe_of(Index rank) const {
    return static_cast<std::size_t>(rank / ranks_of_stripe_);
  }
  [[nodiscard]] NearRow* list(Index rank) { return kept_.data() + Offset{rank} * k_; }

  void insert_all(std::vector<Offers::Offer>& waiting, std::size_t stripe) {
    const std::lock_guard lock(locks_[stripe]);
    for (const auto& one : waiting) insert(one.rank, one.candidate);
    waiting.clear();
  }

  /// A heap with the farthest in front.
  void insert(Index rank, const NearRow& candidate) {
    NearRow* const first = list(rank);
    Index& count = counts_[rank];
    const NearerTo nearer = nearer_to(rank);
    if (count < k_) {
      first[count++] = candidate;
      std::push_heap(first, first + count, nearer);
    } else if (nearer(candidate, first[0])) {
      std::pop_heap(first, first + count, nearer);
      first[count - 1] = candidate;
      std::push_heap(first, first + count, nearer);
    }
  }

  const CsrView& rows_;
  std::span<const Index> order_;
  Index k_;
  Index ranks_of_stripe_;
  Array<NearRow> kept_;
  Array<Index> counts_;
  std::vector<float> thresholds_;
  std::array<std::mutex, kStripes> locks_;
};

}  // namespace likewise
