// SPDX-License-Identifier: Apache-2.0
/// What ALS costs on a GPU that nobody has measured.
#pragma once

#include "backends/gpu/plugin.h"

namespace likewise {

/// Seconds that the rows of an iteration take, by estimate, on data with the row lengths of
/// Netflix's. Compares tunings of one GPU; tests/backends/gpu/als_cost_test.cpp has what it is off.
[[nodiscard]] double estimated_seconds(const GpuInfo& gpu, const AlsWork& work,
                                       const AlsTuning& tuning);

/// The same for so many interactions of such rows.
[[nodiscard]] double estimated_seconds(const GpuInfo& gpu, const AlsWork& work,
                                       const AlsTuning& tuning, Offset interactions);

}  // namespace likewise
