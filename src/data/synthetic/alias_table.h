// SPDX-License-Identifier: Apache-2.0
/// Draws from a fixed discrete distribution in constant time.
///
/// Alias method: Walker 1977; linear-time set-up: Vose 1991.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "likewise/types.h"

namespace likewise {

class AliasTable {
 public:
  /// Draws items[i] with a probability that is proportional to weights[i] (positive).
  AliasTable(std::span<const Index> items, std::span<const float> weights);

  /// `bits`: 48 random bits.
  [[nodiscard]] Index draw(std::uint64_t bits) const {
    __extension__ using Wide = unsigned __int128;
    // One product gives the cell (above the point) and the coin (the 32 bits below it).
    const Wide scaled = static_cast<Wide>(bits) * cells_.size();
    const Cell& cell = cells_[static_cast<std::size_t>(scaled >> 48)];
    const auto coin = static_cast<std::uint32_t>(scaled >> 16);
    return coin <= cell.threshold ? cell.item : cell.alias;
  }

 private:
  struct Cell {
    std::uint32_t threshold;
    Index item;
    Index alias;
  };
  std::vector<Cell> cells_;
};

}  // namespace likewise
