// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/positions_by_column.h"

#include <numeric>
#include <random>
#include <vector>

#include <gtest/gtest.h>

#include "tests/csr_entries.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

/// Row r has about one entry in 1 + r / 8 columns: the first rows fill the heads of the columns.
CsrMatrix falling(Index rows, Index cols, ColumnValues values) {
  std::mt19937 random(7);
  std::vector<Entry> entries;
  for (Index r = 0; r < rows; ++r) {
    for (Index c = 0; c < cols; ++c) {
      if (random() % static_cast<unsigned>(1 + r / 8) != 0) continue;
      const float value = static_cast<float>(random() % 100) / 8.0F;
      entries.push_back({r, c, values == ColumnValues::kOnes ? 1.0F : value});
    }
  }
  return make_csr(rows, cols, entries);
}

template <class Rank, class T>
void check_sums(ColumnHeads heads, ColumnValues values) {
  const CsrMatrix matrix = falling(203, 37, values);
  const CsrMatrix queries = falling(203, 37, ColumnValues::kKept);
  std::vector<Index> order(203);
  std::iota(order.begin(), order.end(), 0);
  std::swap(order[3], order[100]);
  const PositionsByColumn<Rank> by_column(matrix.view(), order, heads, values);
  std::vector<double> dense(37);
  for (const Index limit : {0, 1, 15, 16, 17, 100, 202, 203}) {
    for (const Index query : {0, 3, 60, 202}) {
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
  for (const ColumnValues values : {ColumnValues::kKept, ColumnValues::kOnes}) {
    check_sums<Rank, float>(heads, values);
    check_sums<Rank, double>(heads, values);
  }
}

TEST(PositionsByColumn, AddUpLists) {
  check_heads<std::uint16_t>(ColumnHeads::kListed);
  check_heads<Index>(ColumnHeads::kListed);
}

TEST(PositionsByColumn, AddUpMasks) {
  if (!kernels::masks_pay()) GTEST_SKIP() << "no masks without AVX-512";
  check_heads<std::uint16_t>(ColumnHeads::kMasked);
  check_heads<Index>(ColumnHeads::kMasked);
}

}  // namespace
}  // namespace likewise
