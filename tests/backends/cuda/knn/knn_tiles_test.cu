// SPDX-License-Identifier: Apache-2.0
/// How rows are cut into tiles of sums: arithmetic alone, no GPU is needed.
#include <gtest/gtest.h>

#include "backends/cuda/knn/knn_table.h"

namespace likewise::cuda {
namespace {

constexpr int kShared = 115'648;  // of an H200's block, two to a multiprocessor

TEST(KnnTiles, HoldEveryRowWithinSharedMemory) {
  for (const int shared : {50'000, kShared, 232'000}) {
    for (const int sums : {1, 4, 6}) {
      for (const int bytes : {4, 8}) {
        for (const Index rows : {1, 15, 16, 17, 4'463, 26'744, 138'493, 2'000'000'000}) {
          const TilePlan plan = plan_tiles(rows, sums, bytes, shared);
          SCOPED_TRACE(testing::Message() << rows << " rows, " << sums << " sums of " << bytes);
          EXPECT_EQ(plan.tiles, plan.rounds * kTileWarps);
          EXPECT_GE(Offset{plan.tiles} * plan.slots, rows);
          EXPECT_LT(Offset{plan.tiles} * (plan.slots - 1), rows) << "a slot of no tile is used";
          EXPECT_GE(plan.pitch, sums * plan.slots);
          EXPECT_EQ(plan.pitch % 2, 1);
          EXPECT_LE(plan.shared_bytes(), shared);
        }
      }
    }
  }
}

TEST(KnnTiles, ItemsOfMovieLens20MTakeOneRound) {
  EXPECT_EQ(plan_tiles(26'744, 1, 4, kShared).rounds, 1);
  EXPECT_EQ(plan_tiles(26'744, 6, 4, kShared).rounds, 6);
}

}  // namespace
}  // namespace likewise::cuda
