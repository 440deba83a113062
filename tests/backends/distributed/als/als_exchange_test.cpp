// SPDX-License-Identifier: Apache-2.0
/// What a half-step of ALS over ranks costs, and what is chosen.
#include "backends/distributed/als/als_exchange.h"

#include <vector>

#include <gtest/gtest.h>

#include "tests/csr_entries.h"

namespace likewise {
namespace {

using test::Entry;

constexpr auto kAll = static_cast<std::size_t>(AlsExchange::kReplicate);
constexpr auto kSums = static_cast<std::size_t>(AlsExchange::kSums);
constexpr auto kNeeded = static_cast<std::size_t>(AlsExchange::kNeeded);

[[nodiscard]] AlsParams exact(int factors, Feedback feedback = Feedback::kImplicit) {
  AlsParams params = AlsParams::defaults(feedback);
  params.factors = factors;
  params.solver = AlsSolverKind::kCholesky;
  return params;
}

TEST(AlsRowCost, CountsMultiplyAdds) {
  const AlsRowCost cholesky(exact(12), {});
  EXPECT_DOUBLE_EQ(cholesky.row(0), 2 * 144.0);
  EXPECT_DOUBLE_EQ(cholesky.row(6), 6 * 6 * 12 + 216 / 6.0 + 2 * 144);  // the dual system
  EXPECT_DOUBLE_EQ(cholesky.row(100), 100 * 144 + 1728 / 6.0 + 2 * 144);
  EXPECT_DOUBLE_EQ(cholesky.sums(100), 100 * 144.0);
  EXPECT_DOUBLE_EQ(cholesky.summed_row(), 1728 / 6.0 + 2 * 144);
  AlsParams steps = exact(11, Feedback::kExplicit);  // and a bias
  steps.solver = AlsSolverKind::kCg;
  steps.cg_steps = 4;
  const AlsRowCost cg(steps, {});
  EXPECT_DOUBLE_EQ(cg.row(100), 2 * 12 * 100 * 5 + 2 * 144);
  EXPECT_DOUBLE_EQ(cg.summed_row(), 5 * 144 + 2 * 144);
}

/// 4 users x 6 items over two ranks of two users and three items each.
TEST(AlsExchange, TheLoadIsThatOfTheRankWithTheMost) {
  const std::vector<Entry> entries{{0, 0, 1}, {0, 4, 1}, {0, 5, 1}, {1, 4, 1},
                                   {2, 3, 1}, {3, 0, 1}, {3, 1, 1}};
  const CsrMatrix by_user = test::make_csr(4, 6, entries);
  const CsrMatrix by_item = transpose(by_user.view());
  const Partition users({0, 2, 4});
  const Partition items({0, 3, 6});
  const AlsRowCost cost(exact(12), {4, 6, 7});
  const AlsRankLoad load = rank_load(by_user.view(), users, by_item.view(), items, cost);
  EXPECT_EQ(load.other_rows, 3);
  EXPECT_EQ(load.needed_rows, 2);  // rank 0: items 4, 5; rank 1: items 0, 1
  EXPECT_EQ(load.solved_rows, 2);
  EXPECT_EQ(load.fixed_entries, 4);  // items 3 to 5
  EXPECT_DOUBLE_EQ(load.row_operations, cost.row(3) + cost.row(1));
}

TEST(AlsExchange, BytesAndOperationsByFormula) {
  const AlsRankLoad load{1000, 300, 20, 5000, 7e6};
  const AlsParams params = exact(20);
  const AlsRowCost cost(params, {});
  const RankSpeed speed{1e6, 1e9};
  const AlsExchangePlan plan = plan_exchange(load, 4, params, cost, speed);
  EXPECT_DOUBLE_EQ(plan.costs[kAll].bytes, 1000 * 4.0 * 32);  // 20 numbers and padding
  EXPECT_DOUBLE_EQ(plan.costs[kNeeded].bytes, 300 * 4.0 * 32);
  EXPECT_DOUBLE_EQ(plan.costs[kSums].bytes, 3 * 20 * 8.0 * (210 + 20 + 1));
  EXPECT_DOUBLE_EQ(plan.costs[kAll].operations, 7e6);
  EXPECT_DOUBLE_EQ(plan.costs[kNeeded].operations, 7e6);
  EXPECT_DOUBLE_EQ(plan.costs[kSums].operations, 5000 * 400.0 + 20 * (8000 / 6.0 + 800));
  EXPECT_DOUBLE_EQ(plan.costs[kAll].seconds, 0.128 + 0.007);
  EXPECT_DOUBLE_EQ(plan.costs[kNeeded].seconds, 2 * 0.0384 + 0.007);
  EXPECT_EQ(plan.chosen, AlsExchange::kNeeded);
  EXPECT_EQ(describe(Side::kItems, plan),
            "items: ranks exchange needed rows, 37.5 KiB and 7e+06 operations (or all rows, 125.0 "
            "KiB and 7e+06 operations; partial sums, 108.3 KiB and 2e+06 operations)");

  const AlsParams biased = exact(20, Feedback::kExplicit);
  const AlsExchangePlan ratings =
      plan_exchange(load, 4, biased, AlsRowCost(biased, {}), speed, AlsExchange::kSums);
  EXPECT_DOUBLE_EQ(ratings.costs[kAll].bytes, 1000 * 4.0 * 33);  // and the bias
  EXPECT_DOUBLE_EQ(ratings.costs[kSums].bytes, 3 * 20 * 8.0 * (231 + 21 + 1));
  EXPECT_EQ(ratings.chosen, AlsExchange::kSums);
}

/// Few, long rows are summed in parts; one rank exchanges nothing.
TEST(AlsExchange, ChoosesByTheShape) {
  std::vector<Entry> entries;
  for (Index u = 0; u < 3000; ++u) {
    entries.push_back({u, u % 2, 1.0F});
    entries.push_back({u, 2, 1.0F});
  }
  const CsrMatrix by_user = test::make_csr(3000, 3, entries);
  const CsrMatrix by_item = transpose(by_user.view());
  const AlsRanksPlan plan = plan_ranks(by_user.view(), by_item.view(), exact(12), 3, kThreadSpeed);
  EXPECT_EQ(plan.exchange(Side::kUsers).chosen, AlsExchange::kReplicate);
  EXPECT_EQ(plan.exchange(Side::kItems).chosen, AlsExchange::kSums);
  EXPECT_EQ(plan.users.count(0), 1000);

  const AlsRanksPlan alone = plan_ranks(by_user.view(), by_item.view(), exact(12), 1, kThreadSpeed);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    EXPECT_EQ(alone.exchange(side).chosen, AlsExchange::kReplicate);
    for (const AlsExchangeCost& cost : alone.exchange(side).costs) EXPECT_EQ(cost.bytes, 0.0);
  }

  // Each rank's users have items of their own: no rank needs what others hold.
  entries.clear();
  for (Index u = 0; u < 3000; ++u) entries.push_back({u, u, 1.0F});
  const CsrMatrix apart = test::make_csr(3000, 3000, entries);
  const AlsRanksPlan needed =
      plan_ranks(apart.view(), transpose(apart.view()).view(), exact(12), 3, kThreadSpeed);
  EXPECT_EQ(needed.exchange(Side::kUsers).chosen, AlsExchange::kNeeded);
  EXPECT_EQ(needed.exchange(Side::kUsers).costs[kNeeded].bytes, 0.0);
}

}  // namespace
}  // namespace likewise
