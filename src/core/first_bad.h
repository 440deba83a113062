// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>

#include "core/system/parallel.h"

namespace likewise {

/// The first of `count` places for which is_bad(place), looked for by all threads; -1 where there
/// is none.
template <class IsBad>
[[nodiscard]] Offset first_bad(Offset count, const IsBad& is_bad) {
  std::atomic<Offset> first{count};
  parallel_blocks(count, 1024, [&](Offset begin, Offset end, Offset) {
    if (begin > first.load(std::memory_order_relaxed)) return;
    for (Offset place = begin; place < end; ++place) {
      if (!is_bad(place)) continue;
      Offset seen = first.load();
      while (place < seen && !first.compare_exchange_weak(seen, place)) {
      }
      return;
    }
  });
  return first < count ? first.load() : -1;
}

}  // namespace likewise
