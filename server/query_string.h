// SPDX-License-Identifier: Apache-2.0
/// The address of a request: its path, and what stands behind the question mark.
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace likewise::server {

struct Target {
  std::string authority{};  ///< "localhost:8080" of an address that begins with http://
  std::string path;
  std::vector<std::pair<std::string, std::string>> query;
};

/// Of "/v1/model?x=1", or of the whole address "http://localhost:8080/v1/model?x=1". Decodes %41
/// and, behind the question mark, +. Throws Fault(kInvalidArgument) for what is no
/// address.
[[nodiscard]] Target read_target(std::string_view text);

}  // namespace likewise::server
