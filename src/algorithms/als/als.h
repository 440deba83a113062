// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kAlsRow = algorithm_row<AlsParams>("als", "matrix factorisation");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const AlsParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_als(const AlsParams& params, const UpdateTask& task);

}  // namespace likewise
