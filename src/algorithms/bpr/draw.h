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
};

/// An item of the range that is not in `known`; -1 where 32 draws found none: a user who likes
/// nearly all of them goes without.
[[nodiscard]] inline Index draw_negative(const NegativeRange& range,
                                         std::span<const SgdEntry> known, CounterRandom& random) {
  constexpr int kTries = 32;
  const auto count = range.pool.empty() ? static_cast<std::uint64_t>(range.last - range.first)
                                        : static_cast<std::uint64_t>(range.pool.size());
  for (int attempt = 0; attempt < kTries; ++attempt) {
    const std::uint64_t at = random.below(count);
    const Index item = range.pool.empty() ? range.first + static_cast<Index>(at) : range.pool[at];
    bool is_known = false;
    for (const SgdEntry& one : known) is_known = is_known || one.item == item;
    if (!is_known) return item;
  }
  return -1;
}

}  // namespace likewise
