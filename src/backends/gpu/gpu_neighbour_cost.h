// SPDX-License-Identifier: Apache-2.0
/// What both strategies to find neighbours cost on a GPU.
#pragma once

#include "backends/gpu/plugin.h"
#include "backends/neighbour_cost.h"

namespace likewise {

struct NeighbourWork {
  Index rows = 0;
  Index cols = 0;
  Offset entries = 0;
  double common = 0.0;  ///< pairs of entries in one column, each met from both sides
  int sums = 1;         ///< numbers that such a pair adds to
  int tiles = 16;       ///< parts that the rows' sums are cut into
  Index k = 1;
  bool dense_can = false;  ///< the formula needs products of whole rows only: a GEMM
};

[[nodiscard]] NeighbourCost gpu_neighbour_cost(const NeighbourWork& work, const GpuInfo& gpu);

}  // namespace likewise
