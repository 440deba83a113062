// SPDX-License-Identifier: Apache-2.0
/// Draws items that a user has not liked.
#pragma once

#include <span>

#include "algorithms/bpr/popularity.h"
#include "algorithms/sgd/grid.h"
#include "core/random.h"

namespace likewise {

/// Where negatives come from.
struct NegativeRange {
  Index first = 0;  ///< items [first, last)
  Index last = 0;
  const PopularItems* popular = nullptr;  ///< of the range; null: all are alike
  int tries = 32;                         ///< draws at most
};

/// An item of the range that is not known; -1 where no try found one.
template <class IsKnown>
[[nodiscard]] Index draw_unknown(const NegativeRange& range, const IsKnown& is_known,
                                 CounterRandom& random) {
  const auto count = static_cast<std::uint64_t>(range.last - range.first);
  for (int attempt = 0; attempt < range.tries; ++attempt) {
    const Index item = range.popular == nullptr
                           ? range.first + static_cast<Index>(random.below(count))
                           : range.popular->item(random.next_u64());
    if (!is_known(item)) return item;
  }
  return -1;
}

/// The same for what few entries know.
[[nodiscard]] inline Index draw_negative(const NegativeRange& range,
                                         std::span<const SgdEntry> known, CounterRandom& random) {
  const auto is_known = [&](Index item) {
    bool found = false;
    for (const SgdEntry& one : known) found = found || one.item == item;
    return found;
  };
  return draw_unknown(range, is_known, random);
}

}  // namespace likewise
