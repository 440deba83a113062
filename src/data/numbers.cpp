// SPDX-License-Identifier: Apache-2.0
#include "data/numbers.h"

#include <charconv>
#include <cmath>

#include <fast_float/fast_float.h>

namespace likewise {
namespace {

template <class Number>
std::optional<Number> parse_float(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = fast_float::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

std::int64_t to_seconds(std::int64_t time) {
  constexpr std::int64_t kMilliseconds = 100'000'000'000;
  if (time >= kMilliseconds * 1'000'000) return time / 1'000'000'000;
  if (time >= kMilliseconds * 1'000) return time / 1'000'000;
  if (time >= kMilliseconds) return time / 1'000;
  return time;
}

/// Reads the parts of a date one after the other; any misfit makes the whole invalid.
class DateReader {
 public:
  explicit DateReader(std::string_view text) : rest_(text) {}

  /// A number of exactly `digits` digits in [low, high].
  std::int64_t number(std::size_t digits, std::int64_t low, std::int64_t high) {
    std::int64_t value = 0;
    if (rest_.size() < digits) return fail();
    for (const char c : rest_.substr(0, digits)) {
      if (c < '0' || c > '9') return fail();
      value = value * 10 + (c - '0');
    }
    rest_.remove_prefix(digits);
    return value < low || value > high ? fail() : value;
  }
  bool take(char c) {
    if (!rest_.starts_with(c)) return false;
    rest_.remove_prefix(1);
    return true;
  }
  void need(char c) {
    if (!take(c)) fail();
  }
  void skip_digits() {
    std::size_t count = 0;
    while (count < rest_.size() && rest_[count] >= '0' && rest_[count] <= '9') ++count;
    if (count == 0) fail();
    rest_.remove_prefix(count);
  }
  [[nodiscard]] bool at_end() const { return rest_.empty(); }
  [[nodiscard]] bool valid() const { return valid_; }

 private:
  std::int64_t fail() {
    valid_ = false;
    return 0;
  }

  std::string_view rest_;
  bool valid_ = true;
};

bool is_leap(std::int64_t year) { return (year % 4 == 0 && year % 100 != 0) || year % 400 == 0; }

/// Days from 1970-01-01 to a date of the Gregorian calendar, year >= 1.
std::int64_t days_since_1970(std::int64_t year, std::int64_t month, std::int64_t day) {
  constexpr std::int64_t kBefore[] = {0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  // Days before January 1st of year y: 365 (y-1) + (y-1)/4 - (y-1)/100 + (y-1)/400.
  const std::int64_t past = year - 1;
  const std::int64_t days = 365 * past + past / 4 - past / 100 + past / 400 + kBefore[month - 1] +
                            day - 1 + static_cast<std::int64_t>(month > 2 && is_leap(year));
  constexpr std::int64_t kDaysBefore1970 = 719162;
  return days - kDaysBefore1970;
}

std::int64_t read_date(DateReader& reader) {
  constexpr std::int64_t kDays[] = {31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31};
  const std::int64_t year = reader.number(4, 1, 9999);
  reader.need('-');
  const std::int64_t month = reader.number(2, 1, 12);
  reader.need('-');
  if (!reader.valid()) return 0;
  const std::int64_t most =
      kDays[month - 1] + static_cast<std::int64_t>(month == 2 && is_leap(year));
  const std::int64_t day = reader.number(2, 1, most);
  return reader.valid() ? days_since_1970(year, month, day) * 86400 : 0;
}

std::int64_t read_clock(DateReader& reader) {
  std::int64_t seconds = reader.number(2, 0, 23) * 3600;
  reader.need(':');
  seconds += reader.number(2, 0, 59) * 60;
  if (!reader.take(':')) return seconds;
  seconds += reader.number(2, 0, 60);  // 60: a leap second
  if (reader.take('.') || reader.take(',')) reader.skip_digits();
  return seconds;
}

/// Seconds that the zone is ahead of UTC.
std::int64_t read_zone(DateReader& reader) {
  if (reader.at_end() || reader.take('Z') || reader.take('z')) return 0;
  if (reader.take(' ') && reader.take('U')) {  // "2001-02-03 04:05:06 UTC"
    reader.need('T');
    reader.need('C');
    return 0;
  }
  const bool behind = reader.take('-');
  if (!behind) reader.need('+');
  std::int64_t seconds = reader.number(2, 0, 23) * 3600;
  if (!reader.at_end()) {
    reader.take(':');
    seconds += reader.number(2, 0, 59) * 60;
  }
  return behind ? -seconds : seconds;
}

std::optional<std::int64_t> parse_iso(std::string_view text) {
  DateReader reader(text);
  std::int64_t time = read_date(reader);
  if (!reader.at_end()) {
    if (!reader.take('T') && !reader.take('t')) reader.need(' ');
    time += read_clock(reader);
    time -= read_zone(reader);
  }
  if (!reader.valid() || !reader.at_end()) return std::nullopt;
  return time;
}

}  // namespace

std::optional<float> parse_value(std::string_view text) { return parse_float<float>(text); }

std::optional<std::int64_t> parse_time(std::string_view text) {
  const char* end = text.data() + text.size();
  std::int64_t whole = 0;
  const auto [rest, error] = std::from_chars(text.data(), end, whole);
  if (rest == end && error == std::errc{}) return to_seconds(whole);
  if (const auto date = parse_iso(text)) return date;
  constexpr double kLimit = 9.2e18;
  if (const auto number = parse_float<double>(text); number && std::abs(*number) < kLimit) {
    return to_seconds(static_cast<std::int64_t>(std::floor(*number)));
  }
  return std::nullopt;
}

}  // namespace likewise
