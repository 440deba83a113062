// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/weight_lists_plan.h"

#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Offset kOneGibibyte = Offset{1} << 30;

TEST(WeightListsPlan, TakesAGibibyteOfScoresWhereThereIsRoom) {
  const WeightListsPlan plan = plan_gpu_weight_lists(41'000, 70 * kOneGibibyte);
  EXPECT_EQ(plan.pitch, 41'008);
  EXPECT_GT(plan.rows, 5'000);
  EXPECT_LE(plan.rows * Offset{plan.pitch} * 4, kOneGibibyte);
  EXPECT_EQ(plan.entries, Offset{1} << 24);
  EXPECT_EQ(plan_gpu_weight_lists(100, kOneGibibyte).rows, 8192);
}

TEST(WeightListsPlan, WhatItTakesFits) {
  const Offset weights = Offset{5'000} * 5'008 * 4;
  for (const Offset beside : {200'000, 1 << 20, 10 << 20, 500 << 20}) {
    const WeightListsPlan plan = plan_gpu_weight_lists(5'000, weights + beside);
    EXPECT_GE(plan.rows, 1);
    EXPECT_LE(plan.rows * Offset{plan.pitch + 2 * kMostGpuListed + 9} * 4, beside);
    EXPECT_GE(plan.entries, 10'000) << "a history of all items, of which all are excluded";
  }
}

TEST(WeightListsPlan, NothingIsPlannedForToo) {
  const WeightListsPlan plan = plan_gpu_weight_lists(0, kOneGibibyte);
  EXPECT_EQ(plan.pitch, 0);
  EXPECT_GE(plan.rows, 1);
}

TEST(WeightListsPlan, SaysWhatDoesNotFit) {
  const std::string text = test::error_of(
      ErrorKind::kOutOfMemory, [] { (void)plan_gpu_weight_lists(41'000, 6 * kOneGibibyte); });
  for (const char* words : {"41000 items", "6.00 GiB", "use the cpu"}) {
    EXPECT_THAT(text, HasSubstr(words));
  }
}

/// The ends of all that come at a time.
[[nodiscard]] std::vector<Index> ends_of(const WeightListsPlan& plan, const CsrView& histories,
                                         const CsrView& excluded) {
  std::vector<Index> ends;
  for (Index first = 0; first < histories.rows; first = ends.back()) {
    ends.push_back(end_of_histories(plan, histories, excluded, first));
  }
  return ends;
}

TEST(WeightListsPlan, HistoriesAreCutByRowsAndByEntries) {
  const CsrMatrix all = test::random_csr(7, 10, 100.0);  // ten entries in each
  EXPECT_THAT(ends_of({16, 3, 1000}, all.view(), {}), ElementsAre(3, 6, 7));
  EXPECT_THAT(ends_of({16, 100, 40}, all.view(), {}), ElementsAre(4, 7));
  EXPECT_THAT(ends_of({16, 100, 40}, all.view(), all.view()), ElementsAre(2, 4, 6, 7));
  EXPECT_THAT(ends_of({16, 100, 5}, all.view(), {}), ElementsAre(1, 2, 3, 4, 5, 6, 7))
      << "one at least";
  EXPECT_THAT(ends_of({16, 100, 5}, CsrMatrix{0, 10, Array<Offset>(1), {}, {}}.view(), {}),
              ElementsAre());
}

}  // namespace
}  // namespace likewise
