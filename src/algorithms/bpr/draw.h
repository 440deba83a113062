// SPDX-License-Identifier: Apache-2.0
/// Draws items that a user has not liked.
#pragma once

#include <span>

#include "algorithms/sgd/grid.h"
#include "core/random.h"

namespace likewise {

/// Where negatives come from.
struct NegativeRange {
  Index first = 0;  ///< items [first, last)
  Index last = 0;
  std::span<const Index> pool{};  ///< not empty: each of these is as likely as another
  int tries = 32;                 ///< draws at most
};

/// An item of the range that is not known; -1 where no try found one.
template <class IsKnown>
[[nodiscard]] Index draw_unknown(const NegativeRange& range, const IsKnown& is_known,
                                 CounterRandom& random) {
  const auto count = range.pool.empty() ? static_cast<std::uint64_t>(range.last - range.first)
                                        : static_cast<std::uint64_t>(range.pool.size());
  for (int attempt = 0; attempt < range.tries; ++attempt) {
    const std::uint64_t at = random.below(count);
    const Index item = range.pool.empty() ? range.first + static_cast<Index>(at) : range.pool[at];
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
