// SPDX-License-Identifier: Apache-2.0
/// What both ways to find neighbours take on a card.
#pragma once

#include "backends/neighbour_cost.h"
#include "backends/plugin.h"

namespace likewise {

struct NeighbourWork {
  Index rows = 0;
  Index cols = 0;
  Offset entries = 0;
  double common = 0.0;  ///< pairs of entries in one column, each met from both sides
  int sums = 1;         ///< numbers that such a pair adds to
  int tiles = 16;       ///< parts that the rows' sums are cut into
  Index k = 1;
  bool dense_can = false;  ///< the formula looks at products of whole rows alone
};

[[nodiscard]] NeighbourCost card_neighbour_cost(const NeighbourWork& work, const CudaCard& card);

}  // namespace likewise
