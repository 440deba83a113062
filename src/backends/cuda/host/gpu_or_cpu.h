// SPDX-License-Identifier: Apache-2.0
/// Training at once, and its lists, by `auto`: on the GPU where that does it and is worth its
/// start, else on the processor. Which of them is known when the data are, not when a device is
/// opened.
#pragma once

#include <memory>

#include "backends/jobs/ease.h"
#include "backends/jobs/spectral.h"

namespace likewise {

template <class TrainingJob>
struct GpuAndCpu {
  std::shared_ptr<const TrainingJob> gpu;
  std::shared_ptr<const TrainingJob> cpu;
};

/// What `auto` says of them.
inline constexpr const char* kGpuOrCpuRule =
    "the GPU where that saves a second and has the memory, else the processor";

/// Whether a training of so many seconds by one core is worth the start of a GPU.
[[nodiscard]] bool gpu_pays(double core_seconds);

/// Whether lists by dense weights of so many items, of histories with so many entries together, are
/// worth the start of a GPU and the way of the weights to it.
[[nodiscard]] bool gpu_pays_for_lists(Index items, Offset entries);

/// Training remarks who does it.
[[nodiscard]] std::shared_ptr<const EaseJob> make_gpu_or_cpu(GpuAndCpu<EaseJob> jobs);
[[nodiscard]] std::shared_ptr<const SpectralJob> make_gpu_or_cpu(GpuAndCpu<SpectralJob> jobs);

}  // namespace likewise
