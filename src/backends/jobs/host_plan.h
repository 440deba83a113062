// SPDX-License-Identifier: Apache-2.0
/// What ALS on the processor takes of the machine's memory, and what all of it has in common.
#pragma once

#include <string_view>
#include <vector>

#include "algorithms/sgd/setup.h"
#include "backends/jobs/ease.h"
#include "backends/jobs/spectral.h"
#include "likewise/als.h"
#include "likewise/bpr.h"
#include "likewise/memory.h"

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

/// What EASE takes beside the interactions, with numbers of this size in the dense form.
[[nodiscard]] MemoryPlan ease_plan(const EaseShape& shape, Offset number_bytes);

/// What spectral factors take beside the interactions, with a basis of so many columns.
[[nodiscard]] MemoryPlan spectral_plan(const SpectralShape& shape, Offset basis);

/// Adds the parts up. Throws Error(kOutOfMemory) where they do not fit.
[[nodiscard]] MemoryPlan checked_plan(const AlsShape& shape, std::vector<MemoryPlan::Part> parts);

}  // namespace likewise
