// SPDX-License-Identifier: Apache-2.0
/// Which GPUs this machine has and which of them can be used, without making a context on any.
#pragma once

#include "backends/cuda/host/plugin.h"

namespace likewise::cuda {

/// Never throws for what is wrong with the machine: that is the answer.
[[nodiscard]] FoundGpus find_gpus();

}  // namespace likewise::cuda
