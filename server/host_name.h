// SPDX-License-Identifier: Apache-2.0
/// The names that requests call a server by.
#pragma once

#include <string>
#include <string_view>

namespace likewise::server {

/// Of the header Host, or of a whole address: without port and final dot, in small letters.
[[nodiscard]] std::string host_name(std::string_view host);

/// A name that a server is given, as host_name() has it in requests. Throws
/// Error(kInvalidArgument) for what no request can call it.
[[nodiscard]] std::string read_host_name(std::string_view text);

}  // namespace likewise::server
