// SPDX-License-Identifier: Apache-2.0
#include "core/places_of.h"

#include <algorithm>
#include <span>

#include "core/system/parallel.h"

namespace likewise {
namespace {

constexpr Offset kNamesPerBlock = 256;
constexpr Offset kIdsPerBlock = 1 << 14;

}  // namespace

std::vector<Index> places_of(const IdMap& ids, const IdMap& in) {
  std::vector<Index> places(static_cast<std::size_t>(ids.size()));
  if (!ids.is_integer() || !in.is_integer()) {
    parallel_for(ids.size(), kNamesPerBlock, [&](Offset i) {
      places[static_cast<std::size_t>(i)] = in.find(ids.name(static_cast<Index>(i))).value_or(-1);
    });
    return places;
  }
  const std::span<const std::int64_t> all = in.integers();
  parallel_blocks(ids.size(), kIdsPerBlock, [&](Offset begin, Offset end, Offset) {
    const auto id = [&](Offset i) { return ids.integers()[static_cast<std::size_t>(i)]; };
    auto at = std::ranges::lower_bound(all, id(begin));
    for (Offset i = begin; i < end; ++i) {
      while (at != all.end() && *at < id(i)) ++at;
      const bool found = at != all.end() && *at == id(i);
      places[static_cast<std::size_t>(i)] = found ? static_cast<Index>(at - all.begin()) : -1;
    }
  });
  return places;
}

}  // namespace likewise
