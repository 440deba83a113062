// SPDX-License-Identifier: Apache-2.0
/// What somebody did, as a store of events keeps it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "likewise/types.h"

namespace likewise::server {

/// Where an event stands in its store, from 1 on. Later events have larger ones; there are gaps.
using Position = Offset;

/// Microseconds since 1970 (UTC).
using Microseconds = std::int64_t;

struct Event {
  std::string user;
  std::string item;
  std::optional<float> value{};  ///< absent: value_of_a_like() of the model that reads it
  Microseconds time = 0;
  /// Chosen by the client: of events with one key the store keeps the first. Empty: none.
  std::string key{};
};

struct StoredEvent {
  Position position = 0;
  Event event;
};

/// All that a user did up to a position is gone.
struct Erasure {
  Position position = 0;
  std::string user;
  Microseconds time = 0;
};

inline constexpr std::size_t kLongestId = 256;     ///< bytes of a user, an item or a key
inline constexpr float kLargestEventValue = 1e6F;  ///< in size
inline constexpr Microseconds kPerSecond = 1'000'000;

[[nodiscard]] Microseconds now();
/// Of any number; those before 1970 stay before it, those that are too large stay too large.
[[nodiscard]] Microseconds microseconds_of(double seconds);

/// Throws Error(kInvalidArgument) that says what is wrong: an id (or key) that is empty, longer
/// than kLongestId, no UTF-8 or with a control character, a value that is not finite or too large,
/// a time before 1970 or more than a day after `at`.
void check_event(const Event& event, Microseconds at);

}  // namespace likewise::server
