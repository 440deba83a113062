// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/positions_by_column.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "likewise/control.h"
#include "tests/csr_entries.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

enum class Values { kOnes, kFew, kMany };

/// 15 of kFew, 0 and negative ones with them.
float draw(Values values, std::mt19937& random) {
  const auto number = static_cast<float>(random() % 100);
  if (values == Values::kOnes) return 1.0F;
  return values == Values::kFew ? std::fmod(number, 15.0F) / 2.0F - 2.0F : number / 8.0F;
}

/// Row r has about one entry in 1 + r / 8 columns: the first rows fill the heads of the columns.
CsrMatrix falling(Index rows, Index cols, Values values) {
  std::mt19937 random(7);
  std::vector<Entry> entries;
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      if (random() % static_cast<unsigned>(1 + r / 8) != 0) continue;
      entries.push_back({r, c, draw(values, random)});
    }
  }
  return make_csr(rows, cols, entries);
}

/// Of so many rows and 37 columns.
template <class Rank, class T>
void check_sums(Index rows, ColumnHeads heads, Values values) {
  const CsrMatrix matrix = falling(rows, 37, values);
  const CsrMatrix queries = falling(rows, 37, Values::kMany);
  std::vector<Index> order(static_cast<std::size_t>(rows));
  std::iota(order.begin(), order.end(), 0);
  if (rows > 100) std::swap(order[3], order[100]);
  const auto few = FewValues::of(matrix.view().all_values());
  ASSERT_EQ(few.has_value(), values != Values::kMany);
  const PositionsByColumn<Rank> by_column(matrix.view(), order, heads, few);
  std::vector<double> dense(37);
  for (const Index limit : {0, 1, 15, 16, 17, 100, 202, 203}) {
    for (const Index query : {0, 3, 60, 202}) {
      if (query >= rows || limit > rows) continue;
      std::ranges::fill(dense, 0.0);
      const auto columns = queries.view().row_columns(query);
      for (std::size_t e = 0; e < columns.size(); ++e) {
        dense[static_cast<std::size_t>(columns[e])] = queries.view().row_values(query)[e];
      }
      Array<T> sums(208);
      kernels::add_products(by_column.pass(queries.view(), query, limit), sums.data());
      for (Index rank = 0; rank < 208; ++rank) {
        double expected = 0.0;
        if (rank < limit) {
          const Index row = order[static_cast<std::size_t>(rank)];
          for (Offset e = matrix.offsets[row]; e < matrix.offsets[row + 1]; ++e) {
            expected += dense[static_cast<std::size_t>(matrix.columns[e])] *
                        static_cast<double>(matrix.values[e]);
          }
        }
        ASSERT_EQ(sums[rank], static_cast<T>(expected)) << rank << " below " << limit;
      }
    }
  }
}

template <class Rank>
void check_heads(ColumnHeads heads) {
  for (const Values values : {Values::kOnes, Values::kFew, Values::kMany}) {
    // 8 rows have entries everywhere: all of them are in heads.
    for (const Index rows : {8, 203}) {
      check_sums<Rank, float>(rows, heads, values);
      check_sums<Rank, double>(rows, heads, values);
    }
  }
}

TEST(PositionsByColumn, AddUpLists) {
  check_heads<std::uint16_t>(ColumnHeads::kListed);
  check_heads<Index>(ColumnHeads::kListed);
}

TEST(PositionsByColumn, AddUpGroups) {
  if (!kernels::groups_pay()) GTEST_SKIP() << "no groups without AVX-512";
  check_heads<std::uint16_t>(ColumnHeads::kGrouped);
  check_heads<Index>(ColumnHeads::kGrouped);
}

std::vector<float> halves(int count) {
  std::vector<float> values;
  for (int i = 0; i < 200'000; ++i) values.push_back(static_cast<float>(i % count) / 2.0F);
  return values;
}

TEST(FewValues, NumbersAreTheSameForAnyThreads) {
  std::vector<float> values = halves(13);
  values.back() = -0.0F;
  values[70'000] = -1e30F;
  for (const int threads : {1, 3}) {
    with_threads(threads, [&] {
      const auto few = FewValues::of(values);
      ASSERT_TRUE(few);
      EXPECT_EQ(few->all().size(), 15U);
      EXPECT_EQ(few->code(-1e30F), 1);
      EXPECT_TRUE(std::ranges::is_sorted(few->all()));
      EXPECT_EQ(few->by_code()[0], 0.0F);
      for (const float value : values) ASSERT_EQ(few->by_code()[few->code(value)], value);
      for (const float value : few->all()) ASSERT_GT(few->code(value), 0);
      EXPECT_FALSE(few->are_ones());
    });
  }
}

TEST(FewValues, MoreThanFifteenAreNone) {
  EXPECT_TRUE(FewValues::of(halves(15)));
  EXPECT_FALSE(FewValues::of(halves(16)));
  EXPECT_FALSE(FewValues::of(halves(100'000)));
}

TEST(FewValues, OnesAreKnown) {
  EXPECT_TRUE(FewValues::of({})->are_ones());
  EXPECT_TRUE(FewValues::of(std::vector<float>(3, 1.0F))->are_ones());
  EXPECT_FALSE(FewValues::of(std::vector<float>(3, 0.0F))->are_ones());
}

}  // namespace
}  // namespace likewise
