// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/partition.h"

#include <algorithm>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

/// The first rows of parts that are filled up to `most` each; the last one takes the rest.
[[nodiscard]] std::vector<Index> fill(std::span<const double> sums, int ranks, double most) {
  std::vector<Index> firsts{0};
  for (int rank = 1; rank < ranks; ++rank) {
    const double full = sums[static_cast<std::size_t>(firsts.back())] + most;
    firsts.push_back(static_cast<Index>(std::ranges::upper_bound(sums, full) - sums.begin() - 1));
  }
  firsts.push_back(static_cast<Index>(sums.size()) - 1);
  return firsts;
}

[[nodiscard]] double part_cost(std::span<const double> sums, const std::vector<Index>& firsts,
                               std::size_t rank) {
  return sums[static_cast<std::size_t>(firsts[rank + 1])] -
         sums[static_cast<std::size_t>(firsts[rank])];
}

}  // namespace

void require_ranks(int ranks) {
  if (ranks >= 1) return;
  throw Error(ErrorKind::kInvalidArgument, fmt::format("ranks must be 1 or more, not {}", ranks));
}

int Partition::owner(Index row) const {
  return static_cast<int>(std::ranges::upper_bound(firsts_, row) - firsts_.begin()) - 1;
}

std::vector<Offset> Partition::counts(Offset numbers) const {
  std::vector<Offset> all;
  for (int rank = 0; rank < ranks(); ++rank) all.push_back(numbers * count(rank));
  return all;
}

Index Partition::largest_count() const {
  Index largest = 0;
  for (int rank = 0; rank < ranks(); ++rank) largest = std::max(largest, count(rank));
  return largest;
}

Partition cut_evenly(Index rows, int ranks) {
  require_ranks(ranks);
  std::vector<Index> firsts;
  for (int rank = 0; rank <= ranks; ++rank) {
    firsts.push_back(static_cast<Index>(Offset{rows} * rank / ranks));
  }
  return Partition(std::move(firsts));
}

Partition cut_equally(Index rows, int ranks, const std::function<double(Index)>& cost) {
  std::vector<double> sums{0.0};
  for (Index row = 0; row < rows; ++row) sums.push_back(sums.back() + cost(row));
  return cut_equally(sums, ranks);
}

Partition cut_equally(std::span<const double> sums, int ranks) {
  require_ranks(ranks);
  // The least cost at which the last part fits, too, by bisection: 60 halves leave less of the
  // total than rounding does.
  double low = 0.0;
  double high = sums.back();
  std::vector<Index> best = fill(sums, ranks, high);
  for (int i = 0; i < 60; ++i) {
    const double middle = low + (high - low) / 2.0;
    std::vector<Index> firsts = fill(sums, ranks, middle);
    if (part_cost(sums, firsts, static_cast<std::size_t>(ranks) - 1) <= middle) {
      high = middle;
      best = std::move(firsts);
    } else {
      low = middle;
    }
  }
  return Partition(std::move(best));
}

}  // namespace likewise
