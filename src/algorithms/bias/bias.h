// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kBiasRow =
    algorithm_row<BiasParams>("bias", "the baseline of ratings");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const BiasParams& params);

}  // namespace likewise
