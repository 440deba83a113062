// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kSgdRow =
    algorithm_row<SgdParams>("sgd", "ratings, by stochastic gradient descent");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const SgdParams& params);

}  // namespace likewise
