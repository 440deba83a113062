// SPDX-License-Identifier: Apache-2.0
#include "training.h"

#include <filesystem>

#include <fmt/format.h>

#include "likewise/autotune.h"
#include "likewise/device.h"

namespace likewise::cli {

std::shared_ptr<const Backend> open_device_to_train(const Common& common,
                                                    const TrainingParams& params,
                                                    Progress& progress) {
  DeviceChoice choice =
      open_backend_to_train(common.device, params, {.device_memory = common.device_memory});
  progress.say(fmt::format("device: {}{}{}", device_text(*choice.backend),
                           choice.reason.empty() ? "" : "; ", choice.reason));
  return std::move(choice.backend);
}

Model train_with_report(const Interactions& data, const TrainingParams& params,
                        const Backend& backend, TrainingRun run, Progress& progress) {
  const AlsTuner* tuner = backend.als_tuner();
  if (tuner != nullptr && !tuner->warning().empty()) progress.say(tuner->warning());
  const Offset rows = Offset{data.users.size()} + data.items.size();
  run.control = progress.control();
  run.on_plan = [&](const MemoryPlan& plan) {
    if (plan.parts.empty()) return;
    progress.detail(fmt::format("memory of {}: {}\n{}", backend.name(), plan.way, describe(plan)));
  };
  run.on_iteration = [&](const TrainingState& state) { progress.show(state, rows); };
  try {
    return train(data, params, backend, run);
  } catch (const Error& error) {
    std::error_code unknown;
    const bool kept = std::filesystem::exists(run.checkpoint.path, unknown);
    if (error.kind() != ErrorKind::kCancelled || !kept) throw;
    throw Error(ErrorKind::kCancelled,
                fmt::format("interrupted; `--resume {}` goes on from the last checkpoint",
                            run.checkpoint.path));
  }
}

}  // namespace likewise::cli
