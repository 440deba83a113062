// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kSpectralRow =
    algorithm_row<SpectralParams>("spectral", "factors of the largest singular values");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const SpectralParams& params);

}  // namespace likewise
