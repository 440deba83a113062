// SPDX-License-Identifier: Apache-2.0
#include "core/memory_plan.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <string>

#include <fmt/format.h>

#include "likewise/backend.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kGibibyte = 1024.0 * kMebibyte;

/// The number in a file that holds one; nothing for "max" or a missing file.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

std::optional<std::uint64_t> machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  for (std::uint64_t kibibytes = 0; file >> key >> kibibytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

std::optional<std::uint64_t> group_available(const char* limit_file, const char* usage_file) {
  const auto limit = number_in(limit_file);
  const auto usage = number_in(usage_file);
  if (!limit || !usage) return std::nullopt;
  return *limit > *usage ? *limit - *usage : 0;
}

}  // namespace

std::uint64_t available_memory() {
  std::uint64_t least = std::numeric_limits<std::uint64_t>::max();
  for (const auto& bytes :
       {machine_available(),
        group_available("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
        group_available("/sys/fs/cgroup/memory/memory.limit_in_bytes",
                        "/sys/fs/cgroup/memory/memory.usage_in_bytes")}) {
    if (bytes) least = std::min(least, *bytes);
  }
  return least;
}

std::string size_text(double bytes) {
  if (bytes >= kGibibyte) return fmt::format("{:.2f} GiB", bytes / kGibibyte);
  if (bytes >= kMebibyte) return fmt::format("{:.1f} MiB", bytes / kMebibyte);
  return fmt::format("{:.1f} KiB", bytes / 1024.0);
}

std::string describe(const MemoryPlan& plan) {
  std::string lines;
  const auto add = [&](std::string_view name, Offset bytes) {
    lines += fmt::format("  {:<36}{:>12}\n", name, size_text(static_cast<double>(bytes)));
  };
  for (const MemoryPlan::Part& part : plan.parts) add(part.name, part.bytes);
  add("total", plan.total);
  lines +=
      fmt::format("  {:<36}{:>12}", "available", size_text(static_cast<double>(plan.available)));
  if (plan.machine > 0) {
    lines += fmt::format("\n  {:<36}{:>12}", "of the machine's memory, besides",
                         size_text(static_cast<double>(plan.machine)));
  }
  return lines;
}

void check_memory_plan(std::string_view plan, double bytes) {
  const auto available = static_cast<double>(available_memory());
  if (bytes <= available) return;
  throw Error(ErrorKind::kOutOfMemory,
              fmt::format("{}: needs {:.2f} GiB of memory, {:.2f} GiB are available", plan,
                          bytes / kGibibyte, available / kGibibyte));
}

}  // namespace likewise
