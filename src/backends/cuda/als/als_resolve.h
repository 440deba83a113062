// SPDX-License-Identifier: Apache-2.0
/// How an ALS training on GPUs is resolved before it begins.
#pragma once

#include "backends/cuda/als/als_side.h"
#include "backends/cuda/host/plugin.h"

namespace likewise::cuda {

/// What a GPU trains: all of a matrix, or the part of one of several ranks.
struct AlsShare {
  AlsShape part;
  AlsShape whole;
  int ranks = 1;
};

/// With what fits into `available` bytes of the current GPU. Throws Error(kOutOfMemory) with the
/// figures where nothing does.
[[nodiscard]] AlsSetup resolve_als(const AlsShare& share, const AlsParams& params,
                                   const AlsTuning& tuning, Offset available);

/// Throws Error(kInvalidArgument) for parameters that no GPU can do.
void refuse_als_params(const AlsParams& params);

}  // namespace likewise::cuda
