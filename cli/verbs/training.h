// SPDX-License-Identifier: Apache-2.0
/// What `train` and `demo` show of a training.
#pragma once

#include <span>

#include "likewise/training.h"
#include "options/options.h"
#include "output/progress.h"

namespace likewise::cli {

/// Opens the device for a training that it can do, with the jobs of `also`, says which one it is
/// and what `auto` took another one for.
[[nodiscard]] Device announced_device_to_train(const Common& common, const TrainingParams& params,
                                               std::span<const Job> also, Progress& progress);

/// As likewise::train(), with its course on `progress`; an interrupt says how to go on when there
/// is a checkpoint.
[[nodiscard]] Model train_with_report(const TrainingPlan& plan, const Interactions& data,
                                      TrainingRun run, Progress& progress);

/// "device: cpu (AVX-512 kernels, 2 threads); ...": what trains, and why "auto" took it.
[[nodiscard]] std::string device_line(const DeviceChoice& choice);

}  // namespace likewise::cli
