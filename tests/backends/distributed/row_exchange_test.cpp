// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/row_exchange.h"

#include <random>
#include <vector>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "backends/distributed/transport/thread_ranks.h"

namespace likewise {
namespace {

constexpr Index kRows = 23;
constexpr Offset kNumbers = 3;

/// Number j of a row of the whole table.
[[nodiscard]] float number(Index row, Offset j) { return static_cast<float>(100 * row + j); }

class RowExchangeOver : public testing::TestWithParam<int> {};

TEST_P(RowExchangeOver, EveryRankGetsWhatItNeeds) {
  const int size = GetParam();
  std::mt19937 random(3);
  for (int turn = 0; turn < 8; ++turn) {
    SCOPED_TRACE(fmt::format("turn {}", turn));
    std::vector<Index> firsts{0};
    for (int rank = 1; rank < size; ++rank) {
      firsts.push_back(std::min<Index>(kRows, firsts.back() + static_cast<Index>(random() % 9)));
    }
    firsts.push_back(kRows);
    const Partition parts(firsts);
    std::vector<std::vector<Index>> needs(static_cast<std::size_t>(size));
    for (std::size_t rank = 0; rank < needs.size(); ++rank) {
      for (Index row = 0; row < kRows; ++row) {  // rank 0 needs nothing, the last one all
        const bool all = rank + 1 == needs.size() && rank > 0;
        if (rank > 0 && (all || random() % 3 == 0)) needs[rank].push_back(row);
      }
    }
    run_thread_ranks(
        size, std::chrono::seconds(20), {}, [&](Communicator& ranks, const RunControl&) {
          const std::vector<Index>& needed = needs[static_cast<std::size_t>(ranks.rank())];
          const RowExchange exchange(ranks, parts, needed);
          std::vector<float> own;
          for (Index r = parts.first(ranks.rank()); r < parts.end(ranks.rank()); ++r) {
            for (Offset j = 0; j < kNumbers; ++j) own.push_back(number(r, j));
          }
          std::vector<float> expected;
          for (const Index r : needed) {
            for (Offset j = 0; j < kNumbers; ++j) expected.push_back(number(r, j));
          }
          std::vector<float> rows(expected.size(), -1.0F);
          exchange.fetch(ranks, own, kNumbers, rows);
          EXPECT_EQ(rows, expected);
        });
  }
}

INSTANTIATE_TEST_SUITE_P(Sizes, RowExchangeOver, testing::Values(1, 2, 3, 5));

}  // namespace
}  // namespace likewise
