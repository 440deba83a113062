// SPDX-License-Identifier: Apache-2.0
/// JSON from an untrusted file: bounded nesting, no duplicate names, valid UTF-8.
#pragma once

#include <string_view>

#include <nlohmann/json.hpp>

namespace likewise {

/// `what` begins the message of the Error(kBadData) that broken text becomes.
[[nodiscard]] nlohmann::json parse_strict_json(std::string_view text, std::string_view what);

}  // namespace likewise
