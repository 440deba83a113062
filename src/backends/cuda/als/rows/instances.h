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
#include "backends/cuda/host/als_cost.h"

namespace likewise::cuda {

template <class Format, bool kExact>
[[nodiscard]] constexpr bool has_row_kernel(int strips) {
  const bool large = has_large_tiles(strips * 16);
  if (std::is_same_v<Format, LargeTilesHalfFormat>) return large && !kExact;
  const bool half = std::is_same_v<Format, HalfFormat> && !kExact;
  if (half && large) return false;
  if (strips % 4 == 0 || strips <= 2) return true;
  return strips < 8 && (half || (kExact && strips % 2 == 0));
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
