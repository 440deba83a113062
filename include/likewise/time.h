// SPDX-License-Identifier: Apache-2.0
/// When something happened, exact to the nanosecond, and how a file writes it.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string_view>

namespace likewise {

/// A moment. 12 bytes: three halves of 32 bits, so that no padding lies beside a file's rows.
class Time {
 public:
  Time() = default;
  /// `seconds` since 1970 (UTC), rounded down, and `nanoseconds` in [0, 1e9) after them.
  constexpr explicit Time(std::int64_t seconds, std::uint32_t nanoseconds = 0)
      : low_(static_cast<std::uint32_t>(seconds)),
        high_(static_cast<std::int32_t>(seconds >> 32)),
        nanoseconds_(nanoseconds) {}

  [[nodiscard]] constexpr std::int64_t seconds() const {
    return (std::int64_t{high_} << 32) | low_;
  }
  [[nodiscard]] constexpr std::uint32_t nanoseconds() const { return nanoseconds_; }

  friend constexpr bool operator==(const Time&, const Time&) = default;
  friend constexpr std::strong_ordering operator<=>(const Time& a, const Time& b) {
    const auto order = a.seconds() <=> b.seconds();
    return order != 0 ? order : a.nanoseconds_ <=> b.nanoseconds_;
  }

 private:
  std::uint32_t low_;
  std::int32_t high_;
  std::uint32_t nanoseconds_;
};

/// How times are written. Numbers count from 1970 and tell their unit by their size (see
/// ReadOptions::keep_times); seconds may have a fraction. kDate is "2001-02-03", kDateTime
/// "2001-02-03T04:05:06.789Z".
enum class TimeForm : std::uint8_t {
  kSeconds,
  kMilliseconds,
  kMicroseconds,
  kNanoseconds,
  kDate,
  kDateTime
};

/// A moment as files write it: see ReadOptions::keep_times. Nothing where the text is none.
[[nodiscard]] std::optional<Time> parse_moment(std::string_view text);
/// The seconds of "90d": a number above 0 and s, min, h, d, w (7 d) or y (365.25 d). Nothing where
/// the text is none.
[[nodiscard]] std::optional<double> parse_duration(std::string_view text);

}  // namespace likewise
