// SPDX-License-Identifier: Apache-2.0
/// Which way a card finds neighbours: sums of common entries one by one, or all products of whole
/// rows on the tensor cores. Both give the same lists; a model of their time chooses.
#pragma once

#include <string>

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

/// Seconds.
struct NeighbourCost {
  double sparse = 0.0;
  double dense = 0.0;  ///< infinite where it cannot be

  [[nodiscard]] bool takes_dense() const { return dense < sparse; }
};

[[nodiscard]] NeighbourCost neighbour_cost(const NeighbourWork& work, const CudaCard& card);

/// The choice in a line for people.
[[nodiscard]] std::string describe(const NeighbourWork& work, const NeighbourCost& cost);

}  // namespace likewise
