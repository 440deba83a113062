// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/sgd_parts.h"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

[[nodiscard]] Partition rows_of_stripes(const SgdSide& side, const Partition& stripes) {
  std::vector<Index> firsts;
  for (int rank = 0; rank < stripes.ranks(); ++rank) {
    firsts.push_back(side.begin[static_cast<std::size_t>(stripes.first(rank))]);
  }
  firsts.push_back(static_cast<Index>(side.row.size()));
  return Partition(std::move(firsts));
}

[[nodiscard]] Partition without_empty(const Partition& parts) {
  std::vector<Index> firsts;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    if (parts.count(rank) > 0) firsts.push_back(parts.first(rank));
  }
  firsts.push_back(parts.rows());
  return Partition(std::move(firsts));
}

/// By ratings, and one for a row that has none.
[[nodiscard]] Partition cut_rows(const CsrView& by_user, const SgdSide& side, Side which,
                                 int ranks) {
  const std::vector<Offset> counts = entry_counts(by_user, which);
  return cut_equally(static_cast<Index>(side.row.size()), ranks, [&](Index at) {
    return 1.0 + static_cast<double>(counts[static_cast<std::size_t>(side.row[at])]);
  });
}

}  // namespace

void require_shared_order(const SgdParams& params, int ranks, const char* what) {
  const bool shared = params.order == SgdOrder::kBlocked || params.order == SgdOrder::kAlternating;
  if (ranks == 1 || shared) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("order: {} is not shared out over {} {}; take blocked or alternating",
                          kSgdOrderNames[static_cast<std::size_t>(params.order)], ranks, what));
}

SgdParts cut_stripes(const SgdGrid& grid, int ranks) {
  Partition stripes =
      without_empty(cut_equally(grid.stripes, std::min<int>(ranks, grid.stripes), [&](Index p) {
        const auto wide = static_cast<std::size_t>(grid.stripes);
        const auto at = static_cast<std::size_t>(p);
        return 1.0 + static_cast<double>(grid.begin[(at + 1) * wide] - grid.begin[at * wide]);
      }));
  Partition users = rows_of_stripes(grid.users, stripes);
  Partition items = rows_of_stripes(grid.items, stripes);
  return {std::move(stripes), std::move(users), std::move(items)};
}

SgdParts cut_lines(const CsrView& by_user, const SgdGrid& grid, int ranks) {
  return {Partition({0, 0}), cut_rows(by_user, grid.users, Side::kUsers, ranks),
          cut_rows(by_user, grid.items, Side::kItems, ranks)};
}

}  // namespace likewise
