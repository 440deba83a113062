// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kEaseRow =
    algorithm_row<EaseParams>("ease", "weights between items, by ridge regression");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const EaseParams& params);

}  // namespace likewise
