// SPDX-License-Identifier: Apache-2.0
/// `Partition`: which rows of a side each rank holds.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "likewise/types.h"

namespace likewise {

/// Throws Error(kInvalidArgument) where there is not one rank at least.
void require_ranks(int ranks);

/// Contiguous parts, in the order of the ranks. Parts may be empty.
class Partition {
 public:
  /// `firsts`: the first row of each rank, then the number of rows. Never falls.
  explicit Partition(std::vector<Index> firsts) : firsts_(std::move(firsts)) {}

  [[nodiscard]] int ranks() const { return static_cast<int>(firsts_.size()) - 1; }
  [[nodiscard]] Index rows() const { return firsts_.back(); }
  [[nodiscard]] Index first(int rank) const { return firsts_[static_cast<std::size_t>(rank)]; }
  [[nodiscard]] Index end(int rank) const { return firsts_[static_cast<std::size_t>(rank) + 1]; }
  [[nodiscard]] Index count(int rank) const { return end(rank) - first(rank); }
  /// The rank that holds this row.
  [[nodiscard]] int owner(Index row) const;
  /// How many numbers each rank has, with `numbers` for a row: the counts of a Communicator's
  /// calls.
  [[nodiscard]] std::vector<Offset> counts(Offset numbers) const;
  [[nodiscard]] Index largest_count() const;

 private:
  std::vector<Index> firsts_;
};

/// Parts of as many rows each, or one more or less.
[[nodiscard]] Partition cut_evenly(Index rows, int ranks);

/// Cuts [0, rows) so that the costliest part costs as little as contiguous parts allow. `cost` is
/// never negative.
[[nodiscard]] Partition cut_equally(Index rows, int ranks,
                                    const std::function<double(Index)>& cost);
/// The same by what all rows before each cost, and all rows: from 0 on, never falling.
[[nodiscard]] Partition cut_equally(std::span<const double> sums, int ranks);

}  // namespace likewise
