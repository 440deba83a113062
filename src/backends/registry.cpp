// SPDX-License-Identifier: Apache-2.0
/// The only file that knows which devices exist.
#include <algorithm>
#include <charconv>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/gpu/cuda_device.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "likewise/recommender.h"
#include "likewise/training.h"

namespace likewise {
namespace {

/// The numbers behind "cuda:", one or more; nothing where they are not such.
[[nodiscard]] std::optional<std::vector<int>> parse_numbers(std::string_view text) {
  std::vector<int> numbers;
  const char* const end = text.data() + text.size();
  for (const char* at = text.data();; ++at) {
    int number = -1;
    const auto [next, failure] = std::from_chars(at, end, number);
    if (failure != std::errc{} || number < 0) return std::nullopt;
    numbers.push_back(number);
    if (next == end) return numbers;
    if (*next != ',') return std::nullopt;
    at = next;
  }
}

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

void require_training(const Device& device, const TrainingParams& params) {
  if (const auto job = training_job(params)) device.require(*job);
  std::visit([&](const auto& some) { require_params(device, some); }, params);
}

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
  const Device cpu = make_cpu_device();
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
    require_training(*gpu, params);
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

void require_different(std::string_view device, const std::vector<int>& gpus) {
  for (auto at = gpus.begin(); at != gpus.end(); ++at) {
    if (std::find(gpus.begin(), at, *at) == at) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("device {}: GPU {} is named twice", device, *at));
  }
}

/// What to do about a text that names no device.
[[nodiscard]] std::string remedy_for(std::string_view device) {
  const bool mixed =
      device.find(',') != std::string_view::npos && device.find("cuda") != std::string_view::npos;
  if (!mixed) return {};
  return "; several GPUs are named as cuda:0,1, and no other device shares a job with them";
}

void check_options(const DeviceOptions& options, std::string_view device) {
  if (options.device_memory < 0) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("device_memory must be 0 (what is free) or a number of bytes, not {}",
                            options.device_memory));
  }
  if (options.device_memory > 0 && !device.starts_with("cuda")) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("device_memory: {} bytes were given, but device {} has no memory of its "
                    "own; ask for a GPU, as cuda",
                    options.device_memory, device));
  }
}

}  // namespace

Device open_device(std::string_view device, const DeviceOptions& options) {
  check_options(options, device);
  if (device == "auto" || device == "cpu") return make_cpu_device();
  if (device == "reference") return make_reference_device();
  if (device == "cuda") return open_cuda(device, {}, options);
  if (device == "cuda:all") return open_all_cuda(device, options);
  if (device.starts_with("cuda:")) {
    if (const auto numbers = parse_numbers(device.substr(5))) {
      require_different(device, *numbers);
      return open_cuda(device, *numbers, options);
    }
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("device must be auto, cpu, reference, cuda, cuda:N (N is the number of a "
                          "GPU, from 0), cuda:N,M (several) or cuda:all, not \"{}\"{}",
                          device, remedy_for(device)));
}

DeviceChoice open_device_to_train(std::string_view device, const TrainingParams& params,
                                  const DeviceOptions& options, std::span<const Job> also) {
  DeviceChoice choice = device == "auto" ? choose_to_train(params, options, also)
                                         : DeviceChoice{open_device(device, options), {}};
  require_training(choice.device, params);
  for (const Job job : also) choice.device.require(job);
  return choice;
}

std::vector<DeviceStatus> device_statuses() {
  std::vector<DeviceStatus> all{status_of(make_cpu_device()), status_of(make_reference_device())};
  for (DeviceStatus& line : cuda_statuses()) all.push_back(std::move(line));
  return all;
}

}  // namespace likewise
