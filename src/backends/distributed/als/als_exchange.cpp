// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/als/als_exchange.h"

#include <algorithm>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/als/weights.h"
#include "core/linalg/rows_of.h"
#include "core/system/memory.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

constexpr std::array<std::string_view, kAlsExchanges> kNames{"all rows", "partial sums",
                                                             "needed rows"};

/// Needed rows are packed and sent one by one: as if each were sent twice.
constexpr double kPacking = 2.0;

/// Rows of the fixed side that these rows meet and that are not in [own_first, own_end).
[[nodiscard]] Offset needed_rows(const CsrView& solved, Index own_first, Index own_end) {
  std::vector<char> seen(static_cast<std::size_t>(solved.cols), 0);
  Offset needed = 0;
  for (Index row = 0; row < solved.rows; ++row) {
    for (const Index column : solved.row_columns(row)) {
      char& known = seen[static_cast<std::size_t>(column)];
      if (known == 0 && (column < own_first || column >= own_end)) ++needed;
      known = 1;
    }
  }
  return needed;
}

[[nodiscard]] Offset entries(const CsrView& rows, Index begin, Index end) {
  return begin == end ? 0 : rows.offsets[end] - rows.offsets[begin];
}

[[nodiscard]] std::string cost_text(std::string_view name, const AlsExchangeCost& cost) {
  return fmt::format("{}, {} and {:.2g} operations", name, size_text(cost.bytes), cost.operations);
}

}  // namespace

Partition cut_rows_equally(const CsrView& rows, int ranks, const AlsRowCost& cost) {
  return cut_equally(rows.rows, ranks, [&](Index row) { return cost.row(rows.row_size(row)); });
}

AlsRankLoad rank_load(const CsrView& solved, const Partition& solved_parts, const CsrView& fixed,
                      const Partition& fixed_parts, const AlsRowCost& cost) {
  AlsRankLoad most;
  for (int rank = 0; rank < solved_parts.ranks(); ++rank) {
    const RowsOf rows(solved, solved_parts.first(rank), solved_parts.count(rank));
    const Index own_first = fixed_parts.first(rank);
    const Index own_end = fixed_parts.end(rank);
    most = larger_load(
        most, own_load(rows.view(), own_first, own_end, entries(fixed, own_first, own_end), cost));
  }
  return most;
}

AlsRankLoad own_load(const CsrView& own_rows, Index own_first, Index own_end, Offset fixed_entries,
                     const AlsRowCost& cost) {
  AlsRankLoad load;
  for (Index row = 0; row < own_rows.rows; ++row) {
    load.row_operations += cost.row(own_rows.row_size(row));
  }
  load.solved_rows = own_rows.rows;
  load.other_rows = own_rows.cols - (own_end - own_first);
  load.needed_rows = needed_rows(own_rows, own_first, own_end);
  load.fixed_entries = fixed_entries;
  return load;
}

AlsRankLoad larger_load(const AlsRankLoad& a, const AlsRankLoad& b) {
  return {std::max(a.other_rows, b.other_rows), std::max(a.needed_rows, b.needed_rows),
          std::max(a.solved_rows, b.solved_rows), std::max(a.fixed_entries, b.fixed_entries),
          std::max(a.row_operations, b.row_operations)};
}

AlsExchangePlan plan_exchange(const AlsRankLoad& load, int ranks, const AlsParams& params,
                              const AlsRowCost& cost, const RankSpeed& speed,
                              std::optional<AlsExchange> forced) {
  const Index width = als_width(params);
  const double row_bytes =
      sizeof(float) * (padded_stride(width) + (width > params.factors ? 1.0 : 0.0));
  const double system_bytes = static_cast<double>(sizeof(double)) * system_numbers(width);
  const auto rows = static_cast<double>(load.solved_rows);

  AlsExchangePlan plan;
  const auto set = [&](AlsExchange way, double bytes, double handled, double operations) {
    plan.costs[static_cast<std::size_t>(way)] = {
        bytes, operations, handled * bytes / speed.bytes + operations / speed.operations};
  };
  set(AlsExchange::kReplicate, row_bytes * static_cast<double>(load.other_rows), 1.0,
      load.row_operations);
  set(AlsExchange::kSums, system_bytes * rows * (ranks - 1), 1.0,
      cost.sums(load.fixed_entries) + rows * cost.summed_row());
  set(AlsExchange::kNeeded, row_bytes * static_cast<double>(load.needed_rows), kPacking,
      load.row_operations);
  const auto least = std::ranges::min_element(plan.costs, {}, &AlsExchangeCost::seconds);
  plan.chosen = forced.value_or(static_cast<AlsExchange>(least - plan.costs.begin()));
  return plan;
}

std::string describe(Side solved, const AlsExchangePlan& plan) {
  const auto chosen = static_cast<std::size_t>(plan.chosen);
  std::vector<std::string> others;
  for (std::size_t i = 0; i < plan.costs.size(); ++i) {
    if (i != chosen) others.push_back(cost_text(kNames[i], plan.costs[i]));
  }
  return fmt::format("{}: ranks exchange {} (or {})", side_name(solved),
                     cost_text(kNames[chosen], plan.costs[chosen]), fmt::join(others, "; "));
}

AlsRanksPlan plan_ranks(const CsrView& by_user, const CsrView& by_item, const AlsParams& params,
                        int ranks, const RankSpeed& speed,
                        const std::array<std::optional<AlsExchange>, 2>& forced) {
  const AlsShape shape{by_user.rows, by_user.cols, by_user.nnz()};
  const AlsRowCost cost(params, shape);
  Partition users = cut_rows_equally(by_user, ranks, cost);
  Partition items = cut_rows_equally(by_item, ranks, cost);
  const auto plan = [&](const CsrView& solved, const Partition& solved_parts, const CsrView& fixed,
                        const Partition& fixed_parts, std::optional<AlsExchange> way) {
    return plan_exchange(rank_load(solved, solved_parts, fixed, fixed_parts, cost), ranks, params,
                         cost, speed, way);
  };
  const AlsExchangePlan of_users = plan(by_user, users, by_item, items, forced[0]);
  const AlsExchangePlan of_items = plan(by_item, items, by_user, users, forced[1]);
  return {shape, std::move(users), std::move(items), {of_users, of_items}};
}

}  // namespace likewise
