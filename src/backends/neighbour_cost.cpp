// SPDX-License-Identifier: Apache-2.0
#include "backends/neighbour_cost.h"

#include <fmt/format.h>

namespace likewise {

std::string describe(const NeighbourCost& cost) {
  return fmt::format(
      "neighbours: {:.3g} s by {:.3g} common entries, {:.3g} s by products of whole rows: {}",
      cost.sparse, cost.common, cost.dense, cost.takes_dense() ? "products" : "common entries");
}

}  // namespace likewise
