// SPDX-License-Identifier: Apache-2.0
/// The tunings that are compiled.
#pragma once

#include <vector>

#include "backends/cuda/host/als_tuning.h"

namespace likewise::cuda {

/// All tunings for this work, the fewest columns first, whose kernels fit `shared_memory`, the
/// bytes that a block may have. At least one.
[[nodiscard]] std::vector<AlsTuning> als_variants(const AlsWork& work, int shared_memory,
                                                  bool held_rows);

}  // namespace likewise::cuda
