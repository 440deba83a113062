// SPDX-License-Identifier: Apache-2.0
/// The job `sgd` of `auto` on a machine with several GPUs: one trains, or all together where that
/// is expected to be faster.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "backends/gpu/plugin.h"

namespace likewise {

struct SgdGpus {
  std::shared_ptr<const SgdJob> one;
  std::shared_ptr<const SgdJob> all;
  int count = 0;
  GpuInfo gpu;          ///< each of them
  bool linked = false;  ///< all reach each other's memory directly
  /// As CudaPlugin::connection_problem; asked only where all would train.
  std::function<std::string()> problem;
};

/// The first epoch remarks who trains.
[[nodiscard]] std::shared_ptr<const SgdJob> make_auto_sgd_job(SgdGpus gpus);

}  // namespace likewise
