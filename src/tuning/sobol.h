// SPDX-License-Identifier: Apache-2.0
/// Sobol's low-discrepancy sequence: 2^k points from a multiple of 2^k on have one in each of 2^k
/// equal parts of every dimension. Sobol (1967); direction numbers: Joe and Kuo, "Constructing
/// Sobol sequences with better two-dimensional projections", SIAM J. Sci. Comput. 30(5), 2008.
#pragma once

#include <cstdint>

namespace likewise {

inline constexpr int kMostSobolDimensions = 10;

/// Coordinate `dimension` of the n-th point, in units of 2^-32. Pure.
[[nodiscard]] std::uint32_t sobol(int dimension, std::uint32_t n);

}  // namespace likewise
