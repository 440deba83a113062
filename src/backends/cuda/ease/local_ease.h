// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "backends/cuda/host/plugin.h"

namespace likewise::cuda {

/// As plan_cuda_ease(), of a shape with interactions and candidates, on the current GPU.
[[nodiscard]] MemoryPlan plan_local_ease(const GpuUse& use, const EaseShape& shape);

}  // namespace likewise::cuda
