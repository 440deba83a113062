// SPDX-License-Identifier: Apache-2.0
/// Which tuning a training gets where nothing was measured.
#pragma once

#include <span>
#include <vector>

#include "backends/cuda/host/plugin.h"

namespace likewise {

/// Whether tunings were measured on GPUs of this name.
[[nodiscard]] bool is_measured(const GpuInfo& gpu);

/// On measured GPUs (H100, H200) what was found to be the best there, on other GPUs what als_cost.h
/// says. `variants` are all that were compiled, at least one.
[[nodiscard]] AlsTuning built_in_tuning(const GpuInfo& gpu, const AlsWork& work,
                                        std::span<const AlsTuning> variants);

/// The same for the variants of each kernel (columns, wide), the best of all first.
[[nodiscard]] std::vector<AlsTuning> built_in_tunings(const GpuInfo& gpu, const AlsWork& work,
                                                      std::span<const AlsTuning> variants);

}  // namespace likewise
