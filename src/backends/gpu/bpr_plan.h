// SPDX-License-Identifier: Apache-2.0
/// What a training by BPR takes of a GPU.
#pragma once

#include "algorithms/sgd/setup.h"
#include "likewise/bpr.h"
#include "likewise/memory_plan.h"

namespace likewise {

/// With factors of numbers of `number_bytes`, in `available` bytes. Throws Error(kOutOfMemory) with
/// the figures where it does not fit.
[[nodiscard]] MemoryPlan plan_gpu_bpr(const SgdShape& shape, const BprParams& params,
                                      int number_bytes, Offset available);

}  // namespace likewise
