// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <mutex>
#include <string_view>
#include <vector>

#include "likewise/types.h"
#include "server/events/event.h"

namespace likewise::server {

/// What models offered, and which of it was followed by an event of the same user and item within
/// a day, by the time of the event. Remembers the last million offers or so, in 16 MB. Thread-safe.
class Follows {
 public:
  struct Count {
    Offset offered = 0;   ///< items in lists
    Offset followed = 0;  ///< of these, once each
  };

  explicit Follows(std::size_t models);

  void offer(std::size_t model, std::string_view user, std::string_view item);
  /// One from before an offer does not follow it, whenever it is told of; another one may.
  void event(std::string_view user, std::string_view item, Microseconds time = now());
  [[nodiscard]] Count count(std::size_t model) const;

 private:
  /// Of a user and an item; the time is in seconds, 0: an empty place.
  struct Offered {
    std::uint64_t pair = 0;
    std::uint32_t time = 0;
    std::uint32_t model = 0;
  };
  static constexpr std::size_t kPlaces = std::size_t{1} << 20;
  static constexpr std::size_t kWays = 4;  ///< places that a pair may take
  static constexpr std::size_t kLocks = 64;

  [[nodiscard]] std::mutex& lock_of(std::uint64_t pair);
  [[nodiscard]] Offered* places_of(std::uint64_t pair);

  struct Counter {
    std::atomic<Offset> offered{0};
    std::atomic<Offset> followed{0};
  };
  std::vector<Offered> places_;
  std::array<std::mutex, kLocks> locks_;
  std::vector<Counter> counters_;
};

}  // namespace likewise::server
