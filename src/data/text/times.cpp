// SPDX-License-Identifier: Apache-2.0
#include "data/text/times.h"

#include <algorithm>
#include <array>
#include <bit>
#include <charconv>
#include <chrono>
#include <cmath>
#include <ctime>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "data/text/numbers.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::uint32_t kBillion = 1'000'000'000;
constexpr std::int64_t kDay = 86'400;
/// The first second of the year 1, and the first one after the year 9999.
constexpr std::int64_t kFirstSecond = -62'135'596'800;
constexpr std::int64_t kEndOfSeconds = 253'402'300'800;
/// As seconds, this would be read as milliseconds.
constexpr std::int64_t kBeforeSeconds = -100'000'000'000;

/// A unit of numbers: how many make a second, and from which number on it is meant.
struct Unit {
  TimeForm form;
  std::uint32_t per_second;
  std::uint64_t from;
};
constexpr std::array<Unit, 4> kUnits = {{
    {TimeForm::kNanoseconds, kBillion, 100'000'000'000'000'000},
    {TimeForm::kMicroseconds, 1'000'000, 100'000'000'000'000},
    {TimeForm::kMilliseconds, 1'000, 100'000'000'000},
    {TimeForm::kSeconds, 1, 0},
}};

const Unit& unit_of(std::uint64_t number) {
  for (const Unit& unit : kUnits) {
    if (number >= unit.from) return unit;
  }
  return kUnits.back();
}

[[nodiscard]] const Unit* unit_of(TimeForm form) {
  const auto* found = std::ranges::find(kUnits, form, &Unit::form);
  return found == kUnits.end() ? nullptr : found;
}

/// A number without its sign: the whole part, and what follows the point.
struct Decimal {
  std::uint64_t whole = 0;
  std::uint32_t billionths = 0;
};

/// The digits at `at` as billionths; the tenth and later ones are cut off.
const char* read_fraction(const char* at, const char* end, std::uint32_t& billionths) {
  std::uint32_t place = kBillion / 10;
  for (; at < end && *at >= '0' && *at <= '9'; ++at, place /= 10) {
    billionths += place * static_cast<std::uint32_t>(*at - '0');
  }
  return at;
}

/// "978300760", "978300760.25"; exact.
std::optional<Decimal> parse_plain(std::string_view text) {
  Decimal number;
  const char* end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data(), end, number.whole);
  if (error != std::errc{}) return std::nullopt;
  if (at == end) return number;
  if (*at != '.' || read_fraction(at + 1, end, number.billionths) != end) return std::nullopt;
  return number;
}

/// Anything else that is a number, such as "9.7830076e8": as exact as 64 bits are.
std::optional<Decimal> parse_with_exponent(std::string_view text) {
  const auto number = parse_double(text);
  if (!number || *number < 0 || *number > 9e18) return std::nullopt;
  const double whole = std::floor(*number);
  const double rest = std::round((*number - whole) * kBillion);
  return Decimal{static_cast<std::uint64_t>(whole),
                 std::min(kBillion - 1, static_cast<std::uint32_t>(rest))};
}

Time before_1970(std::int64_t seconds, std::uint32_t nanoseconds) {
  return nanoseconds == 0 ? Time(-seconds) : Time(-seconds - 1, kBillion - nanoseconds);
}

/// `fixed`: the unit, else the size of the number tells it.
std::optional<ParsedTime> parse_number(std::string_view text, const Unit* fixed = nullptr) {
  const bool negative = text.starts_with('-');
  if (negative || text.starts_with('+')) text.remove_prefix(1);
  if (text.empty() || text[0] == '-' || text[0] == '+') return std::nullopt;
  auto number = parse_plain(text);
  if (!number) number = parse_with_exponent(text);
  if (!number || number->whole > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
  const Unit& unit = fixed != nullptr ? *fixed : unit_of(number->whole);
  const auto seconds = static_cast<std::int64_t>(number->whole / unit.per_second);
  const auto nanoseconds =
      static_cast<std::uint32_t>(number->whole % unit.per_second) * (kBillion / unit.per_second) +
      number->billionths / unit.per_second;
  const Time time = negative ? before_1970(seconds, nanoseconds) : Time(seconds, nanoseconds);
  // Only seconds are written with a fraction.
  return ParsedTime{time, number->billionths > 0 ? TimeForm::kSeconds : unit.form};
}

[[nodiscard]] bool can_be_written(Time time) {
  return time > Time(kBeforeSeconds) && time < Time(kEndOfSeconds);
}

std::optional<ParsedTime> in_unit(const Unit& unit, std::int64_t number) {
  const std::int64_t per_second = unit.per_second;
  const bool borrow = number % per_second < 0;
  const std::int64_t rest = number % per_second + (borrow ? per_second : 0);
  const Time time(number / per_second - (borrow ? 1 : 0),
                  static_cast<std::uint32_t>(rest) * (kBillion / unit.per_second));
  if (!can_be_written(time)) return std::nullopt;
  return ParsedTime{time, unit.form};
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
  /// The digits after a point, in billionths.
  std::uint32_t fraction() {
    std::uint32_t billionths = 0;
    const char* at = read_fraction(rest_.data(), rest_.data() + rest_.size(), billionths);
    if (at == rest_.data()) fail();
    rest_.remove_prefix(static_cast<std::size_t>(at - rest_.data()));
    return billionths;
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

/// Seconds from 1970 to the date's first one.
std::int64_t read_date(DateReader& reader) {
  using namespace std::chrono;
  const std::int64_t year_number = reader.number(4, 1, 9999);
  reader.need('-');
  const std::int64_t month_number = reader.number(2, 1, 12);
  reader.need('-');
  const std::int64_t day_number = reader.number(2, 1, 31);
  const year_month_day date{year(static_cast<int>(year_number)),
                            month(static_cast<unsigned>(month_number)),
                            day(static_cast<unsigned>(day_number))};
  if (reader.valid() && date.ok()) return sys_days(date).time_since_epoch().count() * kDay;
  reader.number(1, 1, 0);  // no such day
  return 0;
}

std::int64_t read_clock(DateReader& reader, std::uint32_t& nanoseconds) {
  std::int64_t seconds = reader.number(2, 0, 23) * 3600;
  reader.need(':');
  seconds += reader.number(2, 0, 59) * 60;
  if (!reader.take(':')) return seconds;
  seconds += reader.number(2, 0, 60);  // 60: a leap second
  if (reader.take('.') || reader.take(',')) nanoseconds = reader.fraction();
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

std::optional<ParsedTime> parse_iso(std::string_view text) {
  DateReader reader(text);
  std::int64_t seconds = read_date(reader);
  std::uint32_t nanoseconds = 0;
  const TimeForm form = reader.at_end() ? TimeForm::kDate : TimeForm::kDateTime;
  if (form == TimeForm::kDateTime) {
    if (!reader.take('T') && !reader.take('t')) reader.need(' ');
    seconds += read_clock(reader, nanoseconds);
    seconds -= read_zone(reader);
  }
  const bool within = seconds >= kFirstSecond && seconds < kEndOfSeconds;  // after the zone
  if (!reader.valid() || !reader.at_end() || !within) return std::nullopt;
  return ParsedTime{Time(seconds, nanoseconds), form};
}

/// The number that `unit` makes of a time; nothing where it would be read as something else.
std::optional<std::int64_t> number_in(const Unit& unit, Time time) {
  const std::uint32_t step = kBillion / unit.per_second;
  if (time.nanoseconds() % step != 0) return std::nullopt;
  std::int64_t number = 0;
  if (__builtin_mul_overflow(time.seconds(), std::int64_t{unit.per_second}, &number) ||
      __builtin_add_overflow(number, std::int64_t{time.nanoseconds() / step}, &number)) {
    return std::nullopt;
  }
  const auto size = static_cast<std::uint64_t>(number);
  if (unit_of(number < 0 ? 0 - size : size).form != unit.form) return std::nullopt;
  return number;
}

/// ".25", or nothing.
char* put_fraction(char* to, std::uint32_t nanoseconds) {
  if (nanoseconds == 0) return to;
  to = fmt::format_to(to, ".{:09}", nanoseconds);
  while (to[-1] == '0') --to;
  return to;
}

char* put_seconds(char* to, Time time) {
  const bool negative = time.seconds() < 0;
  if (negative) *to++ = '-';
  const bool borrow = negative && time.nanoseconds() > 0;
  const std::int64_t whole = negative ? -time.seconds() - (borrow ? 1 : 0) : time.seconds();
  to = fmt::format_to(to, "{}", whole);
  return put_fraction(to, borrow ? kBillion - time.nanoseconds() : time.nanoseconds());
}

char* put_iso(char* to, Time time, TimeForm form) {
  using namespace std::chrono;
  if (time.seconds() < kFirstSecond || time.seconds() >= kEndOfSeconds) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("a time of {} seconds since 1970 lies outside of the years 1 to 9999",
                            time.seconds()));
  }
  const auto days = floor<std::chrono::days>(sys_seconds(seconds(time.seconds())));
  const year_month_day date(days);
  to = fmt::format_to(to, "{:04}-{:02}-{:02}", static_cast<int>(date.year()),
                      static_cast<unsigned>(date.month()), static_cast<unsigned>(date.day()));
  const auto clock = time.seconds() - days.time_since_epoch().count() * kDay;
  if (form == TimeForm::kDate && clock == 0 && time.nanoseconds() == 0) return to;
  to = fmt::format_to(to, "T{:02}:{:02}:{:02}", clock / 3600, clock / 60 % 60, clock % 60);
  to = put_fraction(to, time.nanoseconds());
  *to++ = 'Z';
  return to;
}

/// "2005", or "20050131": as seconds since 1970 nobody means them.
[[nodiscard]] bool is_year_or_day(std::string_view text) {
  const bool digits = text.find_first_not_of("0123456789") == std::string_view::npos;
  return digits && (text.size() == 4 || text.size() == 8) &&
         (text.starts_with("19") || text.starts_with("20"));
}

/// The conversions of a format: "Ymd" of "%Y-%m-%d". Flags and modifiers are left out.
[[nodiscard]] std::string conversions_of(std::string_view time_format) {
  std::string conversions;
  for (std::size_t at = time_format.find('%'); at < time_format.size();
       at = time_format.find('%', at + 1)) {
    at = time_format.find_first_not_of("_-0^#EO", at + 1);
    if (at == std::string_view::npos) break;
    conversions += time_format[at];
  }
  return conversions;
}

[[nodiscard]] bool holds_any(std::string_view text, std::string_view characters) {
  return text.find_first_of(characters) != std::string_view::npos;
}

}  // namespace

std::string format_of_digits(std::string_view text) {
  DateReader reader(text);
  reader.number(4, 1900, 2099);
  std::string format = "%Y";
  if (text.size() >= 8) {
    reader.number(2, 1, 12);
    reader.number(2, 1, 31);
    format += "%m%d";
  }
  if (text.size() >= 12) {
    reader.number(2, 0, 23);
    reader.number(2, 0, 59);
    format += "%H%M";
  }
  if (text.size() == 14) {
    reader.number(2, 0, 60);
    format += "%S";
  }
  return reader.valid() && reader.at_end() ? format : "";
}

std::string remedy_for_digits(const std::string& first, const std::string& as_seconds) {
  return fmt::format("read them with {}, or with {} if they are seconds since 1970",
                     mention("time_format", format_of_digits(first)), as_seconds);
}

void check_time_format(const std::string& time_format) {
  if (time_format.empty()) return;
  const std::string conversions = conversions_of(time_format);
  const char* why = nullptr;
  if (holds_any(conversions, "Z")) {
    why = "has names of zones (%Z), which do not tell the time: write offsets, as +0200, and %z";
  } else if (holds_any(conversions, "GgV")) {
    why = "counts years by weeks (%G, %g, %V), which is not read: write the year as %Y";
  } else if (!holds_any(conversions, "YyDFcxs")) {
    why = "has no year: it needs %Y, %y, %F, %D or %s";
  }
  if (why == nullptr) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} {}", mention("time_format", time_format), why));
}

std::optional<ParsedTime> parse_time(std::string_view text) {
  if (const auto number = parse_number(text)) return number;
  return parse_iso(text);
}

std::optional<ParsedTime> parse_time(std::string_view text, const std::string& time_format) {
  if (time_format.empty()) return parse_time(text);
  std::tm parts{};
  parts.tm_mday = 1;  // of a month without a day
  const std::string copy(text);
  const char* const end = strptime(copy.c_str(), time_format.c_str(), &parts);
  if (end == nullptr || *end != '\0' || copy.empty()) return std::nullopt;
  const std::tm asked = parts;
  const std::int64_t seconds = timegm(&parts) - asked.tm_gmtoff;
  const bool real =
      parts.tm_mday == asked.tm_mday && parts.tm_mon == asked.tm_mon;  // no 30 February
  if (!real || seconds < kFirstSecond || seconds >= kEndOfSeconds) return std::nullopt;
  const bool at_midnight = seconds % kDay == 0;
  return ParsedTime{Time(seconds), at_midnight ? TimeForm::kDate : TimeForm::kDateTime};
}

std::optional<Time> parse_moment(std::string_view text) {
  if (is_year_or_day(text) || !format_of_digits(text).empty()) return std::nullopt;
  const auto parsed = parse_time(text);
  return parsed ? std::optional(parsed->time) : std::nullopt;
}

std::optional<double> parse_duration(std::string_view text) {
  constexpr std::pair<std::string_view, double> kDurations[] = {
      {"s", 1}, {"min", 60}, {"h", 3600}, {"d", kDay}, {"w", 7.0 * kDay}, {"y", 365.25 * kDay}};
  const std::size_t letters = text.find_first_not_of("0123456789.");
  if (letters == std::string_view::npos) return std::nullopt;
  const auto number = parse_double(text.substr(0, letters));
  for (const auto& [unit, seconds] : kDurations) {
    if (text.substr(letters) == unit && number && *number > 0) return *number * seconds;
  }
  return std::nullopt;
}

std::optional<ParsedTime> time_of(std::int64_t number, std::optional<TimeForm> unit) {
  if (number == std::numeric_limits<std::int64_t>::min()) return std::nullopt;
  const Unit* known =
      unit ? unit_of(*unit) : &unit_of(static_cast<std::uint64_t>(std::abs(number)));
  return known == nullptr ? std::nullopt : in_unit(*known, number);
}

std::optional<ParsedTime> time_of(double number, std::optional<TimeForm> unit) {
  const Unit* known = unit ? unit_of(*unit) : nullptr;
  if (unit && known == nullptr) return std::nullopt;
  const auto parsed = parse_number(fmt::format("{}", number), known);
  return parsed && can_be_written(parsed->time) ? parsed : std::nullopt;
}

char* put_time(char* to, Time time, TimeForm form) {
  if (form == TimeForm::kDate || form == TimeForm::kDateTime) return put_iso(to, time, form);
  const Unit* unit = unit_of(form);
  const auto number = unit == nullptr ? std::nullopt : number_in(*unit, time);
  if (number) return fmt::format_to(to, "{}", *number);
  const auto size = static_cast<std::uint64_t>(std::abs(time.seconds()));
  if (unit_of(size).form == TimeForm::kSeconds) return put_seconds(to, time);
  return put_iso(to, time, TimeForm::kDateTime);
}

TimeForm common_form(TimeForms met) {
  if (std::has_single_bit(met)) return static_cast<TimeForm>(std::countr_zero(met));
  const bool dates =
      met != 0 && (met & ~(bit_of(TimeForm::kDate) | bit_of(TimeForm::kDateTime))) == 0;
  return dates ? TimeForm::kDateTime : TimeForm::kSeconds;
}

}  // namespace likewise
