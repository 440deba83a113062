// SPDX-License-Identifier: Apache-2.0
#include "core/system/control_groups.h"

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string_view>
#include <vector>

namespace likewise {
namespace {

/// The file names of one of the two versions.
struct Version {
  const char* file_system;
  const char* limit;
  const char* usage;
  const char* inactive_files;  ///< in memory.stat
  const char* active_files;
};
constexpr Version kVersions[] = {
    {"cgroup", "memory.limit_in_bytes", "memory.usage_in_bytes", "total_inactive_file",
     "total_active_file"},
    {"cgroup2", "memory.max", "memory.current", "inactive_file", "active_file"},
};

/// The number that a file begins with; nothing for "max" or a missing file.
std::optional<std::uint64_t> number_in(const std::string& path) {
  std::ifstream file(path);
  std::uint64_t value = 0;
  if (file >> value) return value;
  return std::nullopt;
}

/// Bytes of cached files, which the system frees under pressure.
std::uint64_t reclaimable(const std::string& folder, const Version& version) {
  std::ifstream file(folder + "/memory.stat");
  std::uint64_t sum = 0;
  std::string name;
  for (std::uint64_t bytes = 0; file >> name >> bytes;) {
    if (name == version.inactive_files || name == version.active_files) sum += bytes;
  }
  return sum;
}

std::optional<std::uint64_t> available_at(const std::string& folder, const Version& version) {
  const auto limit = number_in(folder + "/" + version.limit);
  const auto usage = number_in(folder + "/" + version.usage);
  if (!limit || !usage) return std::nullopt;
  const std::uint64_t held = *usage - std::min(*usage, reclaimable(folder, version));
  return *limit - std::min(*limit, held);
}

bool has_word(const std::string& list, const std::string& word) {
  return ("," + list + ",").find("," + word + ",") != std::string::npos;
}

/// The process's group of the memory controller: "5:memory:/a/b" or, for version 2, "0::/a/b".
std::optional<std::string> group_of(const std::string& groups, bool second) {
  std::istringstream lines(groups);
  for (std::string line; std::getline(lines, line);) {
    const auto first = line.find(':');
    const auto colon = first == std::string::npos ? first : line.find(':', first + 1);
    if (colon == std::string::npos) continue;
    const std::string controllers = line.substr(first + 1, colon - first - 1);
    if (second ? controllers.empty() : has_word(controllers, "memory")) {
      return line.substr(colon + 1);
    }
  }
  return std::nullopt;
}

/// Where a hierarchy is to be seen: the group `root` of it is the folder `point`.
struct Mount {
  std::string root;
  std::string point;
  const Version* version;
};

/// "31 23 0:26 ROOT POINT options ... - FILE_SYSTEM source options", one mount a line.
std::vector<Mount> memory_mounts(const std::string& mounts) {
  std::vector<Mount> found;
  std::istringstream lines(mounts);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string skipped;
    Mount mount;
    words >> skipped >> skipped >> skipped >> mount.root >> mount.point;
    while (words >> skipped && skipped != "-") {
    }
    std::string file_system;
    std::string options;
    words >> file_system >> skipped >> options;
    for (const Version& version : kVersions) {
      const bool second = &version == &kVersions[1];
      if (file_system != version.file_system || !(second || has_word(options, "memory"))) continue;
      mount.version = &version;
      found.push_back(mount);
    }
  }
  return found;
}

/// The group's path below the mount; "" for a group that is not below it.
std::string below(const std::string& group, const std::string& root) {
  const std::string base = root == "/" ? "" : root;
  const bool inside = group.starts_with(base + "/") && group.find("/..") == std::string::npos;
  return inside ? group.substr(base.size()) : "";
}

}  // namespace

std::optional<std::uint64_t> available_in_control_groups(const std::string& groups,
                                                         const std::string& mounts) {
  std::optional<std::uint64_t> least;
  for (const Mount& mount : memory_mounts(mounts)) {
    const auto group = group_of(groups, mount.version == &kVersions[1]);
    if (!group) continue;
    std::string path = below(*group, mount.root);
    while (true) {
      const auto bytes = available_at(mount.point + path, *mount.version);
      if (bytes) least = std::min(least.value_or(*bytes), *bytes);
      if (path.empty()) break;
      path.resize(path.rfind('/'));
    }
  }
  return least;
}

}  // namespace likewise
