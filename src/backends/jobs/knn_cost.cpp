// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/knn_cost.h"

#include <cmath>

#include <fmt/format.h>

namespace likewise {

std::string describe(const KnnCost& cost) {
  const std::string sparse =
      fmt::format("neighbours: {:.3g} s by {:.3g} common entries", cost.sparse, cost.common);
  if (std::isinf(cost.dense)) return sparse;
  return fmt::format("{}, {:.3g} s by GEMM; taken: {}", sparse, cost.dense,
                     cost.takes_dense() ? "GEMM" : "common entries");
}

}  // namespace likewise
