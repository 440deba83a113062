// SPDX-License-Identifier: Apache-2.0
/// What GPUs go by that train together: needs none.
#include <algorithm>
#include <chrono>
#include <vector>

#include <gtest/gtest.h>

#include "backends/cuda/als/als_totals.h"
#include "backends/distributed/partition.h"
#include "backends/distributed/transport/thread_ranks.h"
#include "core/linalg/rows_of.h"
#include "likewise/synthetic.h"

namespace likewise::cuda {
namespace {

TEST(AlsTotals, ColumnOffsetsAreThoseOfTheTransposedMatrix) {
  for (const char* shape : {"3000x70x40k", "70x3000x40k", "5x2x7"}) {
    SCOPED_TRACE(shape);
    const CsrMatrix matrix = generate(parse_shape(shape), 3).by_user;
    const CsrMatrix by_item = transpose(matrix.view());
    EXPECT_TRUE(std::ranges::equal(column_offsets(matrix.view()), by_item.offsets.span()));
  }
  const CsrMatrix empty{0, 3, Array<Offset>(1), {}, {}};
  EXPECT_EQ(column_offsets(empty.view()), std::vector<Offset>(4, 0));
}

TEST(AlsTotals, RowsWithoutEntriesDoNotCount) {
  // Users with 0, 2 and 1 ratings; items with 2, 0 and 1.
  CsrMatrix m{3, 3, Array<Offset>(4), Array<Index>(3), Array<float>(3)};
  std::ranges::copy(std::vector<Offset>{0, 0, 2, 3}, m.offsets.begin());
  std::ranges::copy(std::vector<Index>{0, 2, 0}, m.columns.begin());
  std::ranges::copy(std::vector<float>{1.0F, -3.0F, 2.0F}, m.values.begin());
  AlsParams params = AlsParams::defaults(Feedback::kExplicit);
  params.regularization = 0.5;
  params.regularization_exponent = 1.0;
  const AlsTotals totals = find_totals(m.view(), column_offsets(m.view()), params);
  EXPECT_EQ(totals.shape.interactions, 3);
  EXPECT_EQ(totals.users.smallest_count, 1);
  EXPECT_FLOAT_EQ(totals.users.smallest_regularization, 0.5F);
  EXPECT_FLOAT_EQ(totals.users.typical_regularization, 0.5F * (2 + 1) / 3);
  EXPECT_EQ(totals.items.smallest_count, 1);
  EXPECT_EQ(totals.target_scale, 16.0F);  // at least 4 * 3
}

/// Ranks that know no more than their rows find what one finds who knows all.
TEST(AlsTotals, RanksFindThemTogether) {
  const CsrMatrix matrix = generate(parse_shape("300x70x4k"), 3).by_user;
  const CsrMatrix by_item = transpose(matrix.view());
  const AlsShape shape{matrix.view().rows, matrix.view().cols, matrix.view().nnz()};
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    AlsParams params = AlsParams::defaults(feedback);
    params.regularization_exponent = 0.5;
    const AlsTotals alone = find_totals(matrix.view(), by_item.offsets.span(), params);
    for (const int size : {1, 2, 5}) {
      const Partition users = cut_evenly(shape.users, size);
      const Partition items = cut_evenly(shape.items, size);
      run_thread_ranks(
          size, std::chrono::seconds(20), {}, [&](Communicator& ranks, const RunControl&) {
            const int r = ranks.rank();
            const RowsOf own_users(matrix.view(), users.first(r), users.count(r));
            const RowsOf own_items(by_item.view(), items.first(r), items.count(r));
            const AlsTotals found =
                find_totals_together(ranks, shape, own_users.view(), own_items.view(), params);
            EXPECT_EQ(found.shape.interactions, shape.interactions);
            EXPECT_EQ(found.target_scale, alone.target_scale);
            for (const Side side : {Side::kUsers, Side::kItems}) {
              const SideTotals& mine = found.side(side);
              const SideTotals& wanted = alone.side(side);
              EXPECT_EQ(mine.smallest_regularization, wanted.smallest_regularization);
              EXPECT_EQ(mine.smallest_count, wanted.smallest_count);
              // Added up in another order, in float64.
              EXPECT_FLOAT_EQ(mine.typical_regularization, wanted.typical_regularization);
            }
          });
    }
  }
}

}  // namespace
}  // namespace likewise::cuda
