// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "server/operation.h"

namespace likewise::server {

/// What a list of a request is called in a query string, where each entry stands alone: "users" is
/// user=1&user=2. Empty for what a query string cannot say.
[[nodiscard]] std::string query_name(const std::string& member, const Json& schema);

/// The table of operations as OpenAPI 3.1.
[[nodiscard]] Json openapi(const std::vector<Operation>& operations);

}  // namespace likewise::server
