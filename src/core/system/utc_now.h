// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace likewise {

/// UTC now, ISO 8601 to the second: "2026-01-02T03:04:05Z".
[[nodiscard]] std::string utc_now();

}  // namespace likewise
