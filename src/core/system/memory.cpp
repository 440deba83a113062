// SPDX-License-Identifier: Apache-2.0
#include "core/system/memory.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <sys/resource.h>
#include <unistd.h>

#include <fmt/format.h>

#include "core/system/control_groups.h"
#include "likewise/error.h"
#include "likewise/memory.h"

namespace likewise {
namespace {

constexpr double kMebibyte = 1024.0 * 1024.0;
constexpr double kGibibyte = 1024.0 * kMebibyte;

constexpr std::uint64_t kNoLimit = std::numeric_limits<std::uint64_t>::max();

std::optional<std::uint64_t> machine_available() {
  std::ifstream file("/proc/meminfo");
  std::string key;
  std::string unit;
  for (std::uint64_t kibibytes = 0; file >> key >> kibibytes; std::getline(file, unit)) {
    if (key == "MemAvailable:") return kibibytes * 1024;
  }
  return std::nullopt;
}

std::string content(const char* path) {
  const std::ifstream file(path);
  std::ostringstream text;
  text << file.rdbuf();
  return text.str();
}

/// What a limit of the process (`ulimit`) leaves beside the pages it has.
std::uint64_t left_of(decltype(RLIMIT_AS) limit, std::uint64_t pages) {
  rlimit allowed{};
  if (getrlimit(limit, &allowed) != 0 || allowed.rlim_cur == RLIM_INFINITY) return kNoLimit;
  const std::uint64_t used = pages * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  return allowed.rlim_cur - std::min<std::uint64_t>(allowed.rlim_cur, used);
}

}  // namespace

std::uint64_t available_pages() {
  const auto groups =
      available_in_control_groups(content("/proc/self/cgroup"), content("/proc/self/mountinfo"));
  return std::min(machine_available().value_or(kNoLimit), groups.value_or(kNoLimit));
}

std::uint64_t available_addresses() {
  // All pages, resident, shared, text, libraries (0 now), data and stack.
  std::ifstream file("/proc/self/statm");
  std::uint64_t pages[6] = {};
  for (std::uint64_t& count : pages) file >> count;
  return std::min(left_of(RLIMIT_AS, pages[0]), left_of(RLIMIT_DATA, pages[5]));
}

std::uint64_t available_memory() { return std::min(available_pages(), available_addresses()); }

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
