// SPDX-License-Identifier: Apache-2.0
#include "server/events/event.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise::server {
namespace {

constexpr Microseconds kDay = 24 * 3600 * kPerSecond;

[[noreturn]] void refuse(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

/// printable() changes what has control characters or is no UTF-8, and nothing else.
void check_id(std::string_view id, std::string_view what) {
  if (id.empty()) refuse(fmt::format("{} is empty", what));
  if (id.size() > kLongestId) {
    refuse(fmt::format("{} has {} bytes: {} are the most", what, id.size(), kLongestId));
  }
  if (printable(id, kLongestId * 4) != id) {
    refuse(fmt::format("{} '{}' has characters that no id may have", what, printable(id)));
  }
}

void check_time(Microseconds time, Microseconds at) {
  if (time < 0) refuse("time is before 1970: it counts seconds since then");
  if (time > at + kDay) {
    refuse(fmt::format("time {} is in the future: it counts seconds since 1970, not milliseconds",
                       time / kPerSecond));
  }
}

}  // namespace

Microseconds now() {
  return std::chrono::duration_cast<std::chrono::microseconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

Microseconds microseconds_of(double seconds) {
  return static_cast<Microseconds>(std::clamp(std::floor(seconds * 1e6), -1.0, 9e18));
}

void check_event(const Event& event, Microseconds at) {
  check_id(event.user, "user");
  check_id(event.item, "item");
  if (!event.key.empty()) check_id(event.key, "key");
  if (event.value && !(std::abs(*event.value) <= kLargestEventValue)) {
    refuse(fmt::format("value {} is not a number of at most {:.0f} in size", *event.value,
                       kLargestEventValue));
  }
  check_time(event.time, at);
}

}  // namespace likewise::server
