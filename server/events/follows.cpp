// SPDX-License-Identifier: Apache-2.0
#include "server/events/follows.h"

#include <algorithm>

#include "server/text_hash.h"

namespace likewise::server {
namespace {

constexpr std::int64_t kDaySeconds = 24 * 3600;
/// How far the clock of who sends events may be behind.
constexpr std::int64_t kBehindSeconds = 5;

[[nodiscard]] std::uint64_t pair_of(std::string_view user, std::string_view item) {
  return hash_of(item, hash_of(user));
}

[[nodiscard]] std::uint32_t second_now() { return static_cast<std::uint32_t>(now() / kPerSecond); }

}  // namespace

Follows::Follows(std::size_t models) : places_(kPlaces), counters_(models) {}

std::mutex& Follows::lock_of(std::uint64_t pair) { return locks_[(pair >> 32) % kLocks]; }

Follows::Offered* Follows::places_of(std::uint64_t pair) {
  // Pairs of one lock share no places with those of another: the lock is part of the place.
  const std::uint64_t group = (pair >> 32) % (kPlaces / kWays);
  return &places_[group * kWays];
}

void Follows::offer(std::size_t model, std::string_view user, std::string_view item) {
  counters_[model].offered.fetch_add(1, std::memory_order_relaxed);
  const std::uint64_t pair = pair_of(user, item);
  const std::lock_guard lock(lock_of(pair));
  Offered* const places = places_of(pair);
  Offered* place = std::find_if(
      places, places + kWays, [&](const Offered& one) { return one.time > 0 && one.pair == pair; });
  if (place == places + kWays) {
    place = std::min_element(places, places + kWays,
                             [](const Offered& a, const Offered& b) { return a.time < b.time; });
  }
  const std::uint32_t second = second_now();
  // A list that is asked for again is the same offer: an event of the time between may yet come.
  const bool again = place->time > 0 && place->pair == pair && second >= place->time &&
                     second - place->time <= kDaySeconds;
  if (!again) *place = {pair, second, static_cast<std::uint32_t>(model)};
}

void Follows::event(std::string_view user, std::string_view item, Microseconds time) {
  const std::uint64_t pair = pair_of(user, item);
  const std::int64_t second = time / kPerSecond;
  const std::lock_guard lock(lock_of(pair));
  Offered* const places = places_of(pair);
  for (Offered* place = places; place != places + kWays; ++place) {
    if (place->time == 0 || place->pair != pair) continue;
    if (second + kBehindSeconds < place->time) continue;
    if (second - place->time <= kDaySeconds) {
      counters_[place->model].followed.fetch_add(1, std::memory_order_relaxed);
    }
    *place = {};
  }
}

Follows::Count Follows::count(std::size_t model) const {
  return {counters_[model].offered.load(), counters_[model].followed.load()};
}

}  // namespace likewise::server
