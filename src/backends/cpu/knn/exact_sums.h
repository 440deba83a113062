// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/knn/similarity.h"

namespace likewise {

/// Whether every sum over common entries is exact in float32, so that its order does not matter:
/// the values are multiples of a power of two and their squares stay small.
[[nodiscard]] bool exact_in_float(const WeightedRows& rows);

}  // namespace likewise
