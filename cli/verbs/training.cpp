// SPDX-License-Identifier: Apache-2.0
#include "verbs/training.h"

#include <filesystem>

#include <fmt/format.h>

#include "likewise/autotune.h"

namespace likewise::cli {

Device announced_device_to_train(const Common& common, const TrainingParams& params,
                                 std::span<const Job> also, Progress& progress) {
  const DeviceChoice choice =
      open_device_to_train(common.device, params, {.device_memory = common.device_memory}, also);
  progress.say(device_line(choice));
  return choice.device;
}

std::string device_line(const DeviceChoice& choice) {
  return fmt::format("device: {}{}{}", device_text(choice.device),
                     choice.reason.empty() ? "" : "; ", choice.reason);
}

Model train_with_report(const TrainingPlan& plan, const Interactions& data, TrainingRun run,
                        Progress& progress) {
  const Device& device = plan.device.device;
  const std::string warning = tuning_warning(device);
  if (!warning.empty()) progress.say(warning);
  if (!plan.memory.parts.empty()) {
    progress.detail(fmt::format("memory of {}: {}\n{}", device.name(), plan.memory.placement,
                                describe(plan.memory)));
  }
  const Offset rows = Offset{data.users.size()} + data.items.size();
  run.control = progress.control();
  run.on_iteration = [&](const TrainingState& state) { progress.show(state, rows); };
  try {
    return train(plan, data, run);
  } catch (const Error& error) {
    std::error_code unknown;
    const bool kept = std::filesystem::exists(run.checkpoint.path, unknown);
    if (error.kind() != ErrorKind::kCancelled || !kept) throw;
    throw Error(ErrorKind::kCancelled,
                fmt::format("interrupted; `--resume {}` goes on from the last checkpoint",
                            shell_word(run.checkpoint.path)));
  }
}

}  // namespace likewise::cli
