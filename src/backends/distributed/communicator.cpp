// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/communicator.h"

#include <numeric>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace likewise {

std::string ranks_text(const std::vector<int>& ranks) {
  return fmt::format("rank{} {}", ranks.size() == 1 ? "" : "s", fmt::join(ranks, ", "));
}

std::vector<Offset> part_begins(std::span<const Offset> counts) {
  std::vector<Offset> begins(counts.size() + 1, 0);
  std::partial_sum(counts.begin(), counts.end(), begins.begin() + 1);
  return begins;
}

void require_parts(const Communicator& ranks, std::string_view call, std::span<const Offset> counts,
                   Offset own, Offset all) {
  const Offset total = std::accumulate(counts.begin(), counts.end(), Offset{0});
  if (std::ssize(counts) == ranks.size() && own == counts[static_cast<std::size_t>(ranks.rank())] &&
      all == total) {
    return;
  }
  throw Error(
      ErrorKind::kDevice,
      fmt::format("rank {} calls {} with {} numbers of its own and {} of all; the counts of {} "
                  "ranks, of {}, add up to {}",
                  ranks.rank(), call, own, all, counts.size(), ranks.size(), total));
}

Error unexpected_bytes(int from, Offset sent, int to, Offset expected) {
  return {ErrorKind::kDevice, fmt::format("rank {} sends {} bytes to rank {}, which expects {}",
                                          from, sent, to, expected)};
}

}  // namespace likewise
