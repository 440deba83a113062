// SPDX-License-Identifier: Apache-2.0
/// Reading JSON that a stranger sent.
#pragma once

#include <cstddef>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace likewise::server {

struct JsonLimits {
  std::size_t depth = 16;          ///< arrays and objects in each other
  std::size_t values = 1'000'000;  ///< of all kinds together
};

/// Numbers without a fraction are integers, however they are written.
/// Throws Fault: invalid_argument for text that is not JSON (with its place), for a name that comes
/// twice in an object and for numbers out of range (1e999, 1e-999), too_large beyond the limits.
[[nodiscard]] nlohmann::json read_json(std::string_view text, const JsonLimits& limits = {});

}  // namespace likewise::server
