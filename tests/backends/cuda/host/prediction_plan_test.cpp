// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/prediction_plan.h"

#include <numeric>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"

namespace likewise {
namespace {

using testing::HasSubstr;

constexpr Offset kMebibyte = Offset{1} << 20;

void expect_adds_up(const MemoryPlan& plan, Offset available) {
  const Offset sum = std::accumulate(
      plan.parts.begin(), plan.parts.end(), Offset{0},
      [](Offset so_far, const MemoryPlan::Part& part) { return so_far + part.bytes; });
  EXPECT_EQ(plan.total, sum);
  EXPECT_LE(plan.total, available);
  EXPECT_EQ(plan.available, available);
}

GpuRatingShape ml_1m(bool by_item) {
  GpuRatingShape shape;
  shape.rows = by_item ? 3706 : 6040;
  shape.columns = by_item ? 6040 : 3706;
  shape.entries = 1'000'209;
  shape.longest = by_item ? 2314 : 3428;
  shape.most_asked = 40;
  shape.search = 20 * kMebibyte;
  return shape;
}

TEST(PredictionPlan, TakesAThousandRowsWhereThereIsRoom) {
  const Offset room = Offset{140} << 30;
  for (const bool by_item : {false, true}) {
    const GpuRatingPlan plan = plan_gpu_knn_predictions(ml_1m(by_item), room);
    EXPECT_EQ(plan.rows, 1024);
    EXPECT_EQ(plan.strips, by_item ? 12 : 8);
    EXPECT_EQ(plan.strips_of_cell, 1);
    EXPECT_EQ(plan.cells, plan.strips);
    EXPECT_EQ(plan.keys, by_item ? 4096 : 8192);
    EXPECT_EQ(plan.pair_keys, 512);
    EXPECT_EQ(plan.pair_blocks, 0);
    expect_adds_up(plan.memory, room);
  }
  const GpuFactorPlan plan = plan_gpu_factor_predictions({6040, 3706, 100}, room);
  EXPECT_EQ(plan.pitch, 128);
  EXPECT_EQ(plan.rows, 1024);
  expect_adds_up(plan.memory, room);
}

TEST(PredictionPlan, TakesFewerRowsWhereThereIsLess) {
  for (const Offset room : {100 * kMebibyte, 64 * kMebibyte, 50 * kMebibyte}) {
    const GpuRatingPlan plan = plan_gpu_knn_predictions(ml_1m(true), room);
    EXPECT_GE(plan.rows, 1);
    EXPECT_LT(plan.rows, 1024);
    expect_adds_up(plan.memory, room);
    const GpuFactorPlan factors = plan_gpu_factor_predictions({600'000, 3706, 1}, 170 * kMebibyte);
    EXPECT_LT(factors.rows, 1024);
    expect_adds_up(factors.memory, 170 * kMebibyte);
  }
}

TEST(PredictionPlan, SaysWhatDoesNotFit) {
  const std::string ratings = test::error_of(
      ErrorKind::kOutOfMemory, [] { (void)plan_gpu_knn_predictions(ml_1m(true), 40 * kMebibyte); });
  for (const char* words : {"use the cpu", "ratings by row", "40.0 MiB", "total"}) {
    EXPECT_THAT(ratings, HasSubstr(words));
  }
  const std::string factors = test::error_of(ErrorKind::kOutOfMemory, [] {
    (void)plan_gpu_factor_predictions({480'189, 17'770, 128}, 200 * kMebibyte);
  });
  for (const char* words : {"use the cpu", "users", "200.0 MiB"}) {
    EXPECT_THAT(factors, HasSubstr(words));
  }
}

TEST(PredictionPlan, SortsInMemoryWhatSharedMemoryCannotHold) {
  GpuRatingShape shape = ml_1m(true);
  shape.most_asked = 0xffff'ffff;
  EXPECT_EQ(plan_gpu_knn_predictions(shape, Offset{1} << 33).pair_keys, kSharedPairKeys);
  shape.longest = kSharedPairKeys;
  const GpuRatingPlan plan = plan_gpu_knn_predictions(shape, Offset{1} << 33);
  EXPECT_EQ(plan.pair_keys, 2 * kSharedPairKeys);
  EXPECT_EQ(plan.pair_blocks, 1024);
}

/// As many cells as entries at most, but one for each row.
TEST(PredictionPlan, StripsShareCellsOfEmptyMatrices) {
  GpuRatingShape shape;
  shape.rows = 1'000'000;
  shape.columns = 1'000'000;
  shape.entries = 20'000'000;
  shape.longest = 5'000;
  shape.most_asked = 40;
  const GpuRatingPlan plan = plan_gpu_knn_predictions(shape, Offset{64} << 30);
  EXPECT_EQ(plan.strips, 1954);
  EXPECT_EQ(plan.strips_of_cell, 128);
  EXPECT_EQ(plan.cells, 16);
  shape.entries = 0;
  EXPECT_EQ(plan_gpu_knn_predictions(shape, Offset{64} << 30).cells, 1);
  const GpuRatingPlan none = plan_gpu_knn_predictions({}, Offset{64} << 20);
  EXPECT_EQ(none.rows, 1);
  EXPECT_EQ(none.cells, 1);
}

}  // namespace
}  // namespace likewise
