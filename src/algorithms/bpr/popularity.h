// SPDX-License-Identifier: Apache-2.0
/// Items drawn as often as they were liked, at one look-up a draw.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Walker's alias method (1977), tables as Vose (1991) makes them. Each place is as likely as
/// another; a place is itself with its own probability, else its alias.
class PopularItems {
 public:
  struct Place {
    std::uint32_t own = 0;  ///< probability of the place's own item, in units of 2^-32
    Index alias = 0;
  };

  PopularItems() = default;
  /// Item first + n has been liked counts[n] times.
  PopularItems(Index first, std::span<const Offset> counts);

  /// Whether nothing can be drawn: nobody liked any of them.
  [[nodiscard]] bool empty() const { return places_.empty(); }
  [[nodiscard]] std::span<const Place> places() const { return places_; }
  /// What a random number of 64 bits says.
  [[nodiscard]] Index item(std::uint64_t random) const {
    __extension__ using Wide = unsigned __int128;
    const auto at = static_cast<std::size_t>((static_cast<Wide>(random) * places_.size()) >> 64);
    const Place& place = places_[at];
    return static_cast<std::uint32_t>(random) < place.own ? first_ + static_cast<Index>(at)
                                                          : place.alias;
  }

 private:
  Index first_ = 0;
  std::vector<Place> places_;
};

}  // namespace likewise
