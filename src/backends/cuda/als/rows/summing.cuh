// SPDX-License-Identifier: Apache-2.0
/// What sums a row's matrix, by its format and width.
#pragma once

#include <type_traits>

#include "backends/cuda/als/rows/pair_sums.cuh"
#include "backends/cuda/als/rows/sums.cuh"

namespace likewise::cuda {

template <class Format, int kStrips>
[[nodiscard]] constexpr auto sums_of() {
  if constexpr (Format::kPaired) {
    return PairSums<Format, kStrips>();
  } else {
    return RowSums<Format, kStrips>();
  }
}
template <class Format, int kStrips>
using SumsOf = decltype(sums_of<Format, kStrips>());

}  // namespace likewise::cuda
