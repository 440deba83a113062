// SPDX-License-Identifier: Apache-2.0
/// What one client of the Model Context Protocol and this server agreed on.
#pragma once

#include <algorithm>
#include <array>
#include <string>
#include <string_view>

namespace likewise::server::mcp {

/// Those that begin with `initialize`, the newest first. A version is a date, so versions compare.
inline constexpr std::array<std::string_view, 4> kVersions = {"2025-11-25", "2025-06-18",
                                                              "2025-03-26", "2024-11-05"};
[[nodiscard]] inline bool is_version(std::string_view name) {
  return std::ranges::find(kVersions, name) != kVersions.end();
}

struct Session {
  std::string version{};  ///< empty before `initialize`

  [[nodiscard]] bool begun() const { return !version.empty(); }
  /// Whether answers of tools are JSON beside text, with a schema.
  [[nodiscard]] bool structured() const { return version >= "2025-06-18"; }
  /// Whether a list of messages is a message. Only this version has it.
  [[nodiscard]] bool batches() const { return version == "2025-03-26"; }
};

}  // namespace likewise::server::mcp
