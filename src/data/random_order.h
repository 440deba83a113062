// SPDX-License-Identifier: Apache-2.0
/// A random order of n things without storing it: each has a random key of its own, and the order
/// is that of the keys. Asked for are only cuts ("the first m"), which take O(n) time and little
/// memory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "likewise/types.h"

namespace likewise {

class RandomOrder {
 public:
  /// The place of a thing in the order: its key, and its number where keys are equal.
  using Place = std::pair<std::uint64_t, Offset>;

  RandomOrder(std::uint64_t seed, Offset count) : seed_(seed), count_(count) {}

  [[nodiscard]] Place place(Offset i) const;

  /// For each rank (rising, each in [0, count)): the place that has this many before it.
  [[nodiscard]] std::vector<Place> places_at(const std::vector<Offset>& ranks) const;

 private:
  std::uint64_t seed_;
  Offset count_;
};

}  // namespace likewise
