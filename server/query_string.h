// SPDX-License-Identifier: Apache-2.0
/// The address of a request: its path, and what stands behind the question mark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace likewise::server {

struct Target {
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// Decodes %41 and, behind the question mark, +. Throws Fault(kInvalidArgument) for what is no
/// address.
[[nodiscard]] Target read_target(std::string_view text);

}  // namespace likewise::server
