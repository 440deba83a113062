// SPDX-License-Identifier: Apache-2.0
/// Which warps have a row's matrix, by its format and width.
#pragma once

#include <type_traits>

#include "backends/cuda/als/rows/pair_shape.cuh"
#include "backends/cuda/als/rows/shape.cuh"

namespace likewise::cuda {

template <class Format, int kStrips>
[[nodiscard]] constexpr auto shape_of() {
  if constexpr (Format::kPaired) {
    return PairShape<kStrips>();
  } else {
    return RowShape<kStrips, Format::kTileStrips>();
  }
}
template <class Format, int kStrips>
using ShapeOf = decltype(shape_of<Format, kStrips>());

/// Interactions of a stage: blocks of several warps meet at a barrier in every one.
template <class Format, int kStrips>
inline constexpr int kStageRows = Format::kStageRows* ShapeOf<Format, kStrips>::kStageFactor;

}  // namespace likewise::cuda
