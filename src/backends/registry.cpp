// SPDX-License-Identifier: Apache-2.0
/// The only file that knows which devices exist.
#include <algorithm>
#include <charconv>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "backends/cpu/jobs.h"
#include "backends/cuda/host/cuda_device.h"
#include "backends/jobs/device_jobs.h"
#include "backends/reference/jobs.h"
#include "likewise/device.h"
#include "likewise/error.h"

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
                fmt::format("{} must be 0 (what is free) or a number of bytes, not {}",
                            mention("device_memory"), options.device_memory));
  }
  if (options.device_memory > 0 && !device.starts_with("cuda")) {
    throw Error(
        ErrorKind::kInvalidArgument,
        fmt::format("{}: {} bytes were given, but device {} has no memory of its own; ask for a "
                    "GPU, as cuda",
                    mention("device_memory"), options.device_memory, device));
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
              fmt::format("{} must be auto, cpu, reference, cuda, cuda:N (N is the number of a "
                          "GPU, from 0), cuda:N,M (several) or cuda:all, not \"{}\"{}",
                          mention("device"), device, remedy_for(device)));
}

std::vector<DeviceStatus> device_statuses() {
  std::vector<DeviceStatus> all{status_of(make_cpu_device()), status_of(make_reference_device())};
  for (DeviceStatus& line : cuda_statuses()) all.push_back(std::move(line));
  return all;
}

}  // namespace likewise
