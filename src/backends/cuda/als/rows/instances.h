// SPDX-License-Identifier: Apache-2.0
/// Which row kernels are compiled: conjugate gradients in float16, the default, have one for
/// every multiple of 16 columns up to 192; the others have fewer, and pad more.
#pragma once

#include <algorithm>
#include <type_traits>

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/cholesky.cuh"
#include "backends/cuda/als/rows/ring.cuh"
#include "backends/cuda/als/rows/solve.cuh"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

/// The format of conjugate gradients in float16 by width: it says which warps have a row's matrix.
template <int kStrips>
[[nodiscard]] constexpr auto half_format() {
  if constexpr (kStrips == 7 || kStrips == 8) {
    return PairedHalfFormat();
  } else if constexpr (kStrips == 5 || kStrips == 6 || (kStrips > 8 && kStrips <= 12)) {
    return LargeTilesHalfFormat();
  } else {
    return HalfFormat();
  }
}
template <int kStrips>
using HalfFormatOf = decltype(half_format<kStrips>());

template <class Format, int kStrips, bool kExact>
[[nodiscard]] constexpr bool has_row_kernel() {
  if (std::is_base_of_v<HalfFormat, Format> && !kExact) {
    return std::is_same_v<Format, HalfFormatOf<kStrips>> && (kStrips <= 12 || kStrips == 16);
  }
  return kStrips % 4 == 0 || kStrips <= 2 || (kExact && kStrips == 6);
}

/// The solver's numbers take the place of the ring.
template <class Format, int kStrips, bool kExact>
inline constexpr int kRowBytes = std::max(RowRing<Format, RowCopier<Format, kStrips>>::kBytes,
                                          kExact ? RowCholesky<Format, kStrips>::kBytes
                                                 : RowSolve<Format, kStrips>::kBytes);

/// Defined in als_rows.cuh, compiled in a file per format.
template <class Format, int kStrips, bool kExact>
void launch_rows(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream);

}  // namespace likewise::cuda
