// SPDX-License-Identifier: Apache-2.0
#include "backends/distributed/partition.h"

#include <algorithm>
#include <limits>
#include <random>
#include <span>

#include <fmt/format.h>
#include <gtest/gtest.h>

namespace likewise {
namespace {

[[nodiscard]] Partition cut(const std::vector<double>& costs, int ranks) {
  return cut_equally(static_cast<Index>(costs.size()), ranks,
                     [&](Index row) { return costs[static_cast<std::size_t>(row)]; });
}

[[nodiscard]] double largest_cost(const Partition& parts, const std::vector<double>& costs) {
  double largest = 0.0;
  for (int rank = 0; rank < parts.ranks(); ++rank) {
    double sum = 0.0;
    for (Index r = parts.first(rank); r < parts.end(rank); ++r) {
      sum += costs[static_cast<std::size_t>(r)];
    }
    largest = std::max(largest, sum);
  }
  return largest;
}

/// By trying all cuts.
[[nodiscard]] double least_cost(std::span<const double> costs, int ranks) {
  double first = 0.0;
  if (ranks == 1) {
    for (const double cost : costs) first += cost;
    return first;
  }
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t n = 0; n <= costs.size(); ++n) {
    least = std::min(least, std::max(first, least_cost(costs.subspan(n), ranks - 1)));
    if (n < costs.size()) first += costs[n];
  }
  return least;
}

TEST(Partition, CostsAsLittleAsContiguousPartsAllow) {
  std::mt19937 random(7);
  for (int trial = 0; trial < 60; ++trial) {
    std::vector<double> costs(random() % 9);
    for (double& cost : costs) cost = static_cast<double>(random() % 6);
    if (!costs.empty() && trial % 3 == 0) costs[random() % costs.size()] = 100.0;
    for (const int ranks : {1, 2, 3, 5}) {
      SCOPED_TRACE(fmt::format("trial {}, {} ranks", trial, ranks));
      const Partition parts = cut(costs, ranks);
      ASSERT_EQ(parts.ranks(), ranks);
      EXPECT_EQ(parts.first(0), 0);
      EXPECT_EQ(parts.rows(), std::ssize(costs));
      for (int rank = 0; rank < ranks; ++rank) EXPECT_GE(parts.count(rank), 0);
      EXPECT_NEAR(largest_cost(parts, costs), least_cost(costs, ranks), 1e-9);
    }
  }
}

TEST(Partition, EqualRows) {
  const Partition parts = cut(std::vector<double>(1000, 0.1), 3);
  EXPECT_EQ(parts.largest_count(), 334);
  EXPECT_EQ(parts.count(0) + parts.count(1) + parts.count(2), 1000);
}

TEST(Partition, MoreRanksThanRows) {
  const Partition parts = cut({1.0, 1.0}, 5);
  EXPECT_EQ(parts.largest_count(), 1);
  EXPECT_EQ(parts.counts(10), (std::vector<Offset>{10, 10, 0, 0, 0}));
}

TEST(Partition, OneRowWithHalfOfAllHasARankForItself) {
  const Partition parts = cut({1, 1, 1, 1, 8, 1, 1, 1, 1}, 3);
  EXPECT_EQ(parts.first(1), 4);
  EXPECT_EQ(parts.count(1), 1);
}

TEST(Partition, KnowsTheOwner) {
  const Partition parts({0, 0, 2, 2, 2, 5});
  EXPECT_EQ(parts.owner(0), 1);
  EXPECT_EQ(parts.owner(1), 1);
  EXPECT_EQ(parts.owner(2), 4);
  EXPECT_EQ(parts.owner(4), 4);
}

TEST(Partition, EvenPartsDifferByOneRowAtMost) {
  for (const Index rows : {0, 1, 4, 5, 17}) {
    const Partition parts = cut_evenly(rows, 5);
    EXPECT_EQ(parts.ranks(), 5);
    EXPECT_EQ(parts.rows(), rows);
    for (int rank = 0; rank < 5; ++rank) {
      EXPECT_GE(parts.count(rank), rows / 5);
      EXPECT_LE(parts.count(rank), (rows + 4) / 5);
    }
  }
}

}  // namespace
}  // namespace likewise
