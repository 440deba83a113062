// SPDX-License-Identifier: Apache-2.0
/// Values and times as files write them.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace likewise {

/// A finite number, the whole of `text`.
[[nodiscard]] std::optional<float> parse_value(std::string_view text);

/// Seconds since 1970 (UTC) from a number or an ISO 8601 date, "2001-02-03", "2001-02-03T04:05",
/// "2001-02-03 04:05:06.789Z", "...+01:00"; without a zone it is UTC. Fractions are cut off.
///
/// A number is in seconds, but from 1e11 on in milliseconds, from 1e14 in microseconds and from
/// 1e17 in nanoseconds: as seconds, these would lie beyond the year 5138.
[[nodiscard]] std::optional<std::int64_t> parse_time(std::string_view text);

}  // namespace likewise
