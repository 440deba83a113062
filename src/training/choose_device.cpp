// SPDX-License-Identifier: Apache-2.0
#include "training/choose_device.h"

#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "backends/cuda/host/cuda_device.h"
#include "backends/cuda/host/gpu_or_cpu.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"
#include "training/cost.h"

namespace likewise {
namespace {

[[nodiscard]] std::string_view name_of(Job job) { return kJobNames[static_cast<std::size_t>(job)]; }

/// Which of these jobs other devices do, and why.
[[nodiscard]] std::string helpers_of(const Device& device, std::span<const Job> jobs) {
  std::string text;
  for (const Job job : jobs) {
    const JobStatus status = device.status(job);
    if (status.device == device.name()) continue;
    text += fmt::format("{}{} on {}: {}", text.empty() ? "" : "; ", name_of(job), status.device,
                        status.reason);
  }
  return text;
}

[[nodiscard]] DeviceChoice choose_to_train(const TrainingParams& params,
                                           const DeviceOptions& options,
                                           std::span<const Job> also) {
  const Device cpu = open_device("cpu");
  const std::unique_ptr<const Algorithm> algorithm = algorithm_of(params);
  const std::optional<Job> job = algorithm->training_job();
  if (!job) return {cpu, {}};
  std::optional<Device> gpu;
  try {
    gpu = open_cuda_to_train(algorithm->gains_by_gpus(), cpu, options);
  } catch (const std::exception&) {
    return {cpu, "no GPU can be used, `likewise info` says why"};
  }
  if (const JobStatus status = gpu->status(*job); !status.available) {
    return {cpu, fmt::format("{} lacks the job {}: {}", gpu->name(), name_of(*job), status.reason)};
  }
  try {
    require_to_train(*gpu, params);
  } catch (const Error& error) {
    return {cpu, fmt::format("{}: {}", gpu->name(), error.what())};
  }
  const Device helped = with_help(*gpu, cpu);
  std::vector<Job> jobs{*job};
  for (const Job other : also) {
    if (other != *job) jobs.push_back(other);
  }
  return {helped, helpers_of(helped, jobs)};
}

}  // namespace

void require_to_train(const Device& device, const TrainingParams& params) {
  const std::unique_ptr<const Algorithm> algorithm = algorithm_of(params);
  if (const auto job = algorithm->training_job()) device.require(*job);
  algorithm->require_taken(device);
}

DeviceChoice open_device_to_train(std::string_view device, const TrainingParams& params,
                                  const DeviceOptions& options, std::span<const Job> also) {
  DeviceChoice choice = device == "auto" ? choose_to_train(params, options, also)
                                         : DeviceChoice{open_device(device, options), {}};
  require_to_train(choice.device, params);
  for (const Job job : also) choice.device.require(job);
  return choice;
}

bool can_wait_for_data(std::string_view device, const TrainingParams& params,
                       const DeviceOptions& options) {
  if (device != "auto" || options.device_memory > 0) return false;
  try {
    require_to_train(open_device("cpu"), params);
    return true;
  } catch (const Error&) {
    return false;
  }
}

DeviceChoice choose_by_data(const CsrView& by_user, const TrainingParams& params,
                            const DeviceOptions& options, std::span<const Job> also) {
  if (!algorithm_of(params)->training_job() || gpu_pays(core_seconds(by_user, params))) {
    return open_device_to_train("auto", params, options, also);
  }
  return {open_device("cpu"), "done before a GPU would have started"};
}

}  // namespace likewise
