// SPDX-License-Identifier: Apache-2.0
/// Which row kernels are compiled: float16, the format of choice, has one for every multiple of 16
/// columns up to 128; the others have fewer, and pad more.
#pragma once

#include "backends/cuda/als_rows.h"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

template <class Format>
[[nodiscard]] constexpr bool has_row_kernel(int strips) {
  const bool narrow = std::is_same_v<Format, HalfFormat> ? strips <= 8 : strips == 1 || strips == 2;
  return narrow || strips % 4 == 0;
}

/// Defined in als_rows.cuh, compiled in a file per format.
template <class Format, int kStrips>
void launch_rows(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream);

}  // namespace likewise::cuda
