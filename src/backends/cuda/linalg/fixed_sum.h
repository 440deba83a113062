// SPDX-License-Identifier: Apache-2.0
/// Sums that are the same in every run.
#pragma once

#include <cuda_runtime_api.h>

#include "likewise/types.h"

namespace likewise::cuda {

/// Sums in a fixed order, so that every run gives the same bits.
class FixedSum {
 public:
  static constexpr int kBlocks = 1056;

  /// *out = sum of the values.
  static void run(const double* values, Offset count, double* partial, double* out,
                  cudaStream_t stream);
};

}  // namespace likewise::cuda
