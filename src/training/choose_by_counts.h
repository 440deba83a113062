// SPDX-License-Identifier: Apache-2.0
/// The rule of choose_algorithm(), from counts alone.
#pragma once

#include "algorithms/row_counts.h"
#include "training/choose.h"

namespace likewise {

[[nodiscard]] AlgorithmChoice choose_by_counts(const RowCounts& counts, Feedback feedback,
                                               const Device& device);

}  // namespace likewise
