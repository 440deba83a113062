// SPDX-License-Identifier: Apache-2.0
/// What `train` and `demo` show of a training.
#pragma once

#include <memory>

#include "likewise/training.h"
#include "options.h"
#include "progress.h"

namespace likewise::cli {

/// Opens the device for a training that it can do, says which one it is and why `auto` took no
/// GPU.
[[nodiscard]] std::shared_ptr<const Backend> open_device_to_train(const Common& common,
                                                                  const TrainingParams& params,
                                                                  Progress& progress);

/// As likewise::train(), with its course on `progress`; an interrupt says how to go on when there
/// is a checkpoint.
[[nodiscard]] Model train_with_report(const Interactions& data, const TrainingParams& params,
                                      const Backend& backend, TrainingRun run, Progress& progress);

}  // namespace likewise::cli
