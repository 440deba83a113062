// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/sgd/sgd_rank.h"

#include <algorithm>
#include <numeric>
#include <utility>
#include <vector>

#include "backends/cpu/sgd/sgd_rank_parts.h"
#include "core/system/parallel.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

/// Lines [first, end) of rows, with their pieces, as lines of their own.
[[nodiscard]] SgdRowEntries rows_between(const SgdRowEntries& all, Index first, Index end) {
  SgdRowEntries own;
  std::vector<Index> lines(static_cast<std::size_t>(end - first));
  std::iota(lines.begin(), lines.end(), first);
  for (std::size_t at = 0; at < all.piece_of.size(); ++at) {
    const Index row = all.piece_of[at];
    if (row < first || row >= end) continue;
    own.piece_of.push_back(row - first);
    lines.push_back(all.rows() + static_cast<Index>(at));
  }
  own.begin.push_back(0);
  for (const Index line : lines) own.begin.push_back(own.begin.back() + all.size(line));
  own.entries = Array<SgdEntry>::uninitialized(own.begin.back());
  parallel_for(std::ssize(lines), 64, [&](Offset l) {
    const Index line = lines[static_cast<std::size_t>(l)];
    Offset to = own.begin[static_cast<std::size_t>(l)];
    const Offset from = all.begin[static_cast<std::size_t>(line)];
    for (Offset e = from; e < from + all.size(line); ++e) {
      own.entries[to++] = {static_cast<Index>(l), all.entries[e].item, all.entries[e].value};
    }
  });
  return own;
}

}  // namespace

SgdRanksPlan plan_sgd_ranks(const CsrView& by_user, const SgdParams& params, const SgdWhole& whole,
                            int ranks) {
  require_ranks(ranks);
  require_shared_order(params, ranks, "ranks");
  const double spread = whole.spread ? *whole.spread : value_spread(by_user, params).spread;
  const SgdShape shape{by_user.rows, by_user.cols, by_user.nnz()};
  SgdGrid grid = make_sgd_grid(by_user, sgd_stripes(shape, params), params.seed, whole);
  if (params.order != SgdOrder::kAlternating) {
    return {cut_stripes(grid, ranks), params, spread, std::move(grid), {}, whole.bounded};
  }
  SgdRowEntries of_users = entries_by_row(grid, Side::kUsers);
  SgdRowEntries of_items = entries_by_row(grid, Side::kItems);
  grid.entries = {};
  return {cut_lines(by_user, grid, ranks),
          params,
          spread,
          std::move(grid),
          {std::move(of_users), std::move(of_items)},
          whole.bounded};
}

Offset received_in_epoch(const SgdRanksPlan& plan) {
  if (plan.ranks() == 1) return 0;
  const bool alternating = plan.params.order == SgdOrder::kAlternating;
  const bool squares = !alternating && is_adaptive(plan.params);
  const Offset row =
      (padded_stride(plan.params.factors) + (plan.params.biases ? 1 : 0) + (squares ? 1 : 0)) *
      Offset{sizeof(float)};
  if (!alternating) return plan.items.rows() * row;
  Offset fewest = Offset{plan.users.rows()} + plan.items.rows();
  for (int rank = 0; rank < plan.ranks(); ++rank) {
    fewest = std::min<Offset>(fewest, plan.users.count(rank) + plan.items.count(rank));
  }
  return (Offset{plan.users.rows()} + plan.items.rows() - fewest) * row;
}

std::unique_ptr<CpuSgdRank> make_sgd_rank(const SgdRanksPlan& plan, int rank,
                                          const Factors& start) {
  if (plan.params.order == SgdOrder::kAlternating) {
    return make_rows_rank(plan, rank, start,
                          rows_between(plan.rows[0], plan.users.first(rank), plan.users.end(rank)),
                          rows_between(plan.rows[1], plan.items.first(rank), plan.items.end(rank)));
  }
  const auto wide = static_cast<std::size_t>(plan.grid.stripes);
  const auto first = static_cast<std::size_t>(plan.stripes.first(rank));
  const auto end = static_cast<std::size_t>(plan.stripes.end(rank));
  const Offset begin = plan.grid.begin[first * wide];
  const Offset count = plan.grid.begin[end * wide] - begin;
  auto entries = Array<SgdEntry>::uninitialized(count);
  std::copy_n(plan.grid.entries.data() + begin, count, entries.data());
  return make_stripes_rank(plan, rank, start, std::move(entries));
}

std::unique_ptr<CpuSgdRank> make_only_sgd_rank(SgdRanksPlan& plan, const Factors& start) {
  if (plan.params.order == SgdOrder::kAlternating) {
    return make_rows_rank(plan, 0, start, std::move(plan.rows[0]), std::move(plan.rows[1]));
  }
  return make_stripes_rank(plan, 0, start, std::move(plan.grid.entries));
}

}  // namespace likewise
