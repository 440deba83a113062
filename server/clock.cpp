// SPDX-License-Identifier: Apache-2.0
#include "server/clock.h"

#include <array>
#include <ctime>

#include <fmt/format.h>

namespace likewise::server {

std::string utc_now() {
  timespec now = {};
  clock_gettime(CLOCK_REALTIME, &now);
  std::tm date = {};
  gmtime_r(&now.tv_sec, &date);
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}.{:03}Z", date.tm_year + 1900,
                     date.tm_mon + 1, date.tm_mday, date.tm_hour, date.tm_min, date.tm_sec,
                     now.tv_nsec / 1'000'000);
}

std::string http_date() {
  constexpr std::array kDays{"Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"};
  constexpr std::array kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun",
                               "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
  const std::time_t now = std::time(nullptr);
  std::tm date = {};
  gmtime_r(&now, &date);
  return fmt::format("{}, {:02} {} {:04} {:02}:{:02}:{:02} GMT",
                     kDays[static_cast<std::size_t>(date.tm_wday)], date.tm_mday,
                     kMonths[static_cast<std::size_t>(date.tm_mon)], date.tm_year + 1900,
                     date.tm_hour, date.tm_min, date.tm_sec);
}

}  // namespace likewise::server
