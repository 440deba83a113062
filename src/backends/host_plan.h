// SPDX-License-Identifier: Apache-2.0
/// What ALS on the processor takes of the machine's memory, and what all of it has in common.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/sgd/setup.h"
#include "likewise/als.h"
#include "likewise/bpr.h"
#include "likewise/memory_plan.h"

namespace likewise {

/// Throws Error(kInvalidArgument) for precisions that are those of GPUs.
void require_fp32(const AlsParams& params, std::string_view device);
void require_fp32(SgdPrecision precision, std::string_view device);

/// What every training on the processor takes beside the interactions, which are there.
[[nodiscard]] std::vector<MemoryPlan::Part> common_parts(const AlsShape& shape,
                                                         const AlsParams& params);

/// What SGD takes beside the interactions, with factors of numbers of this size.
[[nodiscard]] MemoryPlan sgd_plan(const SgdShape& shape, const SgdParams& params,
                                  Offset number_bytes);

/// What BPR takes beside the interactions.
[[nodiscard]] MemoryPlan bpr_plan(const SgdShape& shape, const BprParams& params,
                                  Offset number_bytes);

/// Adds the parts up. Throws Error(kOutOfMemory) where they do not fit.
[[nodiscard]] MemoryPlan checked_plan(const AlsShape& shape, std::vector<MemoryPlan::Part> parts);

}  // namespace likewise
