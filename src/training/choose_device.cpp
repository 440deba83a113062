// SPDX-License-Identifier: Apache-2.0
#include "training/choose_device.h"

#include <exception>
#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "backends/gpu/cuda_device.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// What a training asks of a device; nothing where counting will do.
[[nodiscard]] std::optional<Job> job_of(const AlsParams&) { return Job::kAls; }
[[nodiscard]] std::optional<Job> job_of(const NeighbourParams&) { return Job::kNeighbours; }
[[nodiscard]] std::optional<Job> job_of(const PopularParams&) { return std::nullopt; }
[[nodiscard]] std::optional<Job> job_of(const SgdParams&) { return Job::kSgd; }
[[nodiscard]] std::optional<Job> job_of(const BprParams&) { return Job::kBpr; }
[[nodiscard]] std::optional<Job> job_of(const BiasParams&) { return std::nullopt; }

/// Not an overload of job_of: parameters that lack one would convert to TrainingParams, and come
/// here again.
[[nodiscard]] std::optional<Job> training_job(const TrainingParams& params) {
  return std::visit([](const auto& some) { return job_of(some); }, params);
}

/// Makes a solver of an empty matrix: parameters that the device cannot do are refused here.
void require_params(const Device& device, const AlsParams& params) {
  const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
  Factors none{Matrix(0, params.factors), Matrix(0, params.factors), {}, {}, 0.0F};
  (void)job<AlsJob>(device).make_solver(nothing.view(), params, std::move(none));
}
/// Whoever finds neighbours does so whatever the parameters.
void require_params(const Device&, const NeighbourParams&) {}
void require_params(const Device&, const PopularParams&) {}
void require_params(const Device& device, const SgdParams& params) {
  const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
  (void)job<SgdJob>(device).make_solver(nothing.view(), params,
                                        first_sgd_factors(nothing.view(), params));
}
void require_params(const Device& device, const BprParams& params) {
  const CsrMatrix nothing{0, 0, Array<Offset>(1), {}, {}};
  Factors none{Matrix(0, params.factors), Matrix(0, params.factors), {}, {}, 0.0F};
  (void)job<BprJob>(device).make_solver(nothing.view(), params, std::move(none));
}
void require_params(const Device&, const BiasParams&) {}

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
  const std::optional<Job> job = training_job(params);
  if (!job) return {cpu, {}};
  std::optional<Device> gpu;
  try {
    gpu = open_cuda_to_train(params, options);
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
  if (const auto job = training_job(params)) device.require(*job);
  std::visit([&](const auto& some) { require_params(device, some); }, params);
}

DeviceChoice open_device_to_train(std::string_view device, const TrainingParams& params,
                                  const DeviceOptions& options, std::span<const Job> also) {
  DeviceChoice choice = device == "auto" ? choose_to_train(params, options, also)
                                         : DeviceChoice{open_device(device, options), {}};
  require_to_train(choice.device, params);
  for (const Job job : also) choice.device.require(job);
  return choice;
}

}  // namespace likewise
