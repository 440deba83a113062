// SPDX-License-Identifier: Apache-2.0
/// What ALS costs on a GPU that nobody has measured, and of its kernels what that depends on.
#pragma once

#include "backends/cuda/host/plugin.h"

namespace likewise {

/// Whether a matrix of so many columns, a multiple of 16, is summed in tiles of 96 columns and not
/// of 64: conjugate gradients in float16, where that leaves fewer warps to a row.
[[nodiscard]] constexpr bool has_large_tiles(int columns) {
  return (columns > 64 && columns <= 96) || (columns > 128 && columns <= 192);
}

/// Seconds that the rows of an iteration take, by estimate, on data with the row lengths of
/// Netflix's. Compares tunings of one GPU; tests/backends/cuda/host/als_cost_test.cpp has what it
/// is off.
[[nodiscard]] double estimated_seconds(const GpuInfo& gpu, const AlsWork& work,
                                       const AlsTuning& tuning);

/// The same for so many interactions of such rows.
[[nodiscard]] double estimated_seconds(const GpuInfo& gpu, const AlsWork& work,
                                       const AlsTuning& tuning, Offset interactions);

}  // namespace likewise
