// SPDX-License-Identifier: Apache-2.0
/// Training by `auto` on a machine with several GPUs: one trains, or all together where that is
/// expected to be faster.
#pragma once

#include <memory>
#include <string>

#include "backends/cuda/host/plugin.h"

namespace likewise {

template <class TrainingJob>
struct TrainingGpus {
  std::shared_ptr<const TrainingJob> one;
  std::shared_ptr<const TrainingJob> all;
  int count = 0;
  GpuInfo gpu;          ///< each of them
  bool linked = false;  ///< all reach each other's memory directly
};

/// The first half-step, or epoch, remarks who trains.
[[nodiscard]] std::shared_ptr<const AlsJob> make_auto_job(TrainingGpus<AlsJob> gpus);
[[nodiscard]] std::shared_ptr<const SgdJob> make_auto_job(TrainingGpus<SgdJob> gpus);

}  // namespace likewise
