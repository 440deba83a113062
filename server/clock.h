// SPDX-License-Identifier: Apache-2.0
/// Times for people and logs.
#pragma once

#include <chrono>
#include <string>

namespace likewise::server {

using Clock = std::chrono::steady_clock;

/// Now: "2026-11-25T16:31:05.123Z".
[[nodiscard]] std::string utc_now();

/// Now, as HTTP has it: "Wed, 25 Nov 2026 16:31:05 GMT".
[[nodiscard]] std::string http_date();

[[nodiscard]] inline double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace likewise::server
