// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/popularity.h"

#include <numeric>

namespace likewise {

PopularItems::PopularItems(Index first, std::span<const Offset> counts) : first_(first) {
  const Offset all = std::accumulate(counts.begin(), counts.end(), Offset{0});
  if (all == 0) return;
  places_.resize(counts.size());
  // A place holds `all` units of which its item has count * size: what is short is filled up from
  // what is long.
  const auto size = static_cast<Offset>(counts.size());
  std::vector<Offset> units(counts.size());
  std::vector<std::size_t> scarce;
  std::vector<std::size_t> plenty;
  for (std::size_t at = 0; at < counts.size(); ++at) {
    units[at] = counts[at] * size;
    (units[at] < all ? scarce : plenty).push_back(at);
  }
  while (!scarce.empty()) {
    const std::size_t at = scarce.back();
    const std::size_t from = plenty.back();  // units add up: where one is short another is long
    scarce.pop_back();
    const double share = static_cast<double>(units[at]) / static_cast<double>(all);
    places_[at] = {static_cast<std::uint32_t>(share * 4294967296.0),
                   first + static_cast<Index>(from)};
    units[from] -= all - units[at];
    if (units[from] >= all) continue;
    plenty.pop_back();
    scarce.push_back(from);
  }
  for (const std::size_t at : plenty) places_[at] = {0, first + static_cast<Index>(at)};
}

}  // namespace likewise
