// SPDX-License-Identifier: Apache-2.0
/// What a rank may take of its GPU's memory.
#pragma once

#include <algorithm>

#include "backends/cuda/device/memory.h"
#include "backends/cuda/host/plugin.h"

namespace likewise::cuda {

/// Makes the GPU of a rank the current one; bytes of it that the rank may take, once the GPUs are
/// connected. Ranks that share a GPU get equal parts.
[[nodiscard]] inline Offset available_to_rank(const GpuUse& use, int device) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
  return available_bytes(use.memory) / std::ranges::count(use.devices, device);
}

}  // namespace likewise::cuda
