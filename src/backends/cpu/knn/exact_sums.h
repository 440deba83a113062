// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "algorithms/knn/similarity.h"

namespace likewise {

/// Whether every sum of products of these values is exact in float32, so that its order does not
/// matter: they are multiples of a power of two, and the sums, at most `largest`, stay small.
[[nodiscard]] bool exact_in_float(std::span<const float> values, double largest);

/// The same for all sums over common entries.
[[nodiscard]] bool exact_in_float(const WeightedRows& rows);

}  // namespace likewise
