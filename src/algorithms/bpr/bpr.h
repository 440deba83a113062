// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kBprRow =
    algorithm_row<BprParams>("bpr", "rankings, by stochastic gradient descent");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const BprParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_bpr(const BprParams& params, const UpdateTask& task);

}  // namespace likewise
