// SPDX-License-Identifier: Apache-2.0
/// Times as files write them.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

#include "likewise/interactions.h"

namespace likewise {

struct ParsedTime {
  Time time;
  TimeForm form;
};

/// A number, or an ISO 8601 date of the years 1 to 9999: "2001-02-03", "2001-02-03T04:05",
/// "2001-02-03 04:05:06.789Z", "...+01:00"; without a zone it is UTC. Digits after the ninth of a
/// fraction are cut off.
///
/// A number is in seconds, but from 1e11 on in milliseconds, from 1e14 in microseconds and from
/// 1e17 in nanoseconds (below zero likewise): as seconds, these would lie beyond the year 5138.
[[nodiscard]] std::optional<ParsedTime> parse_time(std::string_view text);

/// The same where `time_format` is empty, else a moment as strptime() reads it by this format, the
/// whole of the text; UTC unless it has an offset (%z).
[[nodiscard]] std::optional<ParsedTime> parse_time(std::string_view text,
                                                   const std::string& time_format);

/// Throws kInvalidArgument for a format of strptime() that gives no date, or whose parts it skips.
void check_time_format(const std::string& time_format);

/// The format of a year or a date without separators from 1900 to 2099, which as a number since
/// 1970 nobody means: "%Y%m%d" of "20050131"; also %Y, and with %H%M or %H%M%S. Empty for others.
[[nodiscard]] std::string format_of_digits(std::string_view text);

/// What to do where times are such dates, of which `first` is one: 20050131 is a day to people, and
/// a number of seconds to the reader. `as_seconds`: the parameter that says that they are these.
[[nodiscard]] std::string remedy_for_digits(const std::string& first,
                                            const std::string& as_seconds);

/// A number of `unit`, or where there is none of the unit that its size tells. Nothing for kDate
/// and kDateTime, for a time that no file can write (before the second -1e11 or after the year
/// 9999), and for the least number, which stands for a missing time in many programs.
[[nodiscard]] std::optional<ParsedTime> time_of(std::int64_t number, std::optional<TimeForm> unit);

/// The same of a number with a fraction, which is what its shortest text says.
[[nodiscard]] std::optional<ParsedTime> time_of(double number, std::optional<TimeForm> unit);

/// The most characters that put_time writes.
constexpr std::size_t kMostTimeChars = 30;

/// Writes `time` in `form`, or where it would not read back from that as seconds with a fraction,
/// or as kDateTime. Returns the end. Throws kInvalidArgument for what lies outside of the years 1
/// to 9999.
char* put_time(char* to, Time time, TimeForm form);

/// Forms that were met, as bits.
using TimeForms = unsigned;
[[nodiscard]] constexpr TimeForms bit_of(TimeForm form) {
  return 1U << static_cast<unsigned>(form);
}
/// The one form that can write them all as they were read: see Interactions::time_form.
[[nodiscard]] TimeForm common_form(TimeForms met);

}  // namespace likewise
