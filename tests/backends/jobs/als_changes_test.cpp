// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/als_changes.h"

#include <array>
#include <cmath>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/bfloat16.h"
#include "likewise/als.h"

namespace likewise {
namespace {

TEST(Bfloat16, IsTheNearestAndInDoubtTheEvenOne) {
  EXPECT_EQ(float_of_bfloat16(bfloat16_of(0.0F)), 0.0F);
  EXPECT_EQ(float_of_bfloat16(bfloat16_of(-1.5F)), -1.5F);
  constexpr float kStep = 1.0F / 128;  // between neighbours from 1 on
  EXPECT_EQ(float_of_bfloat16(bfloat16_of(1.0F + 0.49F * kStep)), 1.0F);
  EXPECT_EQ(float_of_bfloat16(bfloat16_of(1.0F + 0.51F * kStep)), 1.0F + kStep);
  EXPECT_EQ(float_of_bfloat16(bfloat16_of(1.0F + 0.5F * kStep)), 1.0F);
  EXPECT_EQ(float_of_bfloat16(bfloat16_of(1.0F + 1.5F * kStep)), 1.0F + 2 * kStep);
  EXPECT_TRUE(std::isinf(float_of_bfloat16(bfloat16_of(std::numeric_limits<float>::max()))));
}

TEST(AlsChanges, TakeThePlaceOfTheLastOnes) {
  const std::array<float, 3> before{1.0F, 2.0F, -1.0F};
  const std::array<float, 3> now{1.5F, 2.0F, 1.0F};
  std::array<std::uint16_t, 3> changes{bfloat16_of(2.0F), bfloat16_of(-1.0F), bfloat16_of(0.0F)};
  const ChangeSums sums = note_changes(before, now.data(), changes.data());
  EXPECT_EQ(sums.before, 5.0);
  EXPECT_EQ(sums.now, 4.25);
  EXPECT_THAT(changes,
              testing::ElementsAre(bfloat16_of(0.5F), bfloat16_of(0.0F), bfloat16_of(2.0F)));
  EXPECT_EQ(moved_start(now[0], 0.25F, changes[0]), 1.625F);
}

/// The root of how the squares fell, never above 1, and 0 where there was nothing before.
TEST(AlsChanges, RatioIsHowMuchTheNextMayRepeat) {
  EXPECT_EQ((ChangeSums{0.25, 1.0}.ratio()), 0.5F);
  EXPECT_EQ((ChangeSums{0.3, 1.0}.ratio()), 140.0F / 256);
  EXPECT_EQ((ChangeSums{9.0, 1.0}.ratio()), 1.0F);
  EXPECT_EQ((ChangeSums{9.0, 0.0}.ratio()), 0.0F);
  const double none = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ((ChangeSums{1.0, none}.ratio()), 0.0F);
}

TEST(AlsChanges, AreThereWhereStartsMove) {
  AlsParams params = AlsParams::defaults(Feedback::kImplicit);
  params.factors = 64;
  const AlsShape large{10'000, 5'000, 1'000'000};
  EXPECT_TRUE(moves_starts(params, large));
  EXPECT_FALSE(moves_starts(params, {100, 50, 1'000}));  // solved exactly
  params.solver = AlsSolverKind::kCg;
  EXPECT_FALSE(moves_starts(params, large));
  params = AlsParams::defaults(Feedback::kExplicit);
  EXPECT_FALSE(moves_starts(params, large));

  Factors factors{Matrix(3, 20), Matrix(2, 20), {}, {}, 0.0F};
  factors = with_changes(std::move(factors), true);
  EXPECT_EQ(factors.user_changes.numbers.size(), 60);
  EXPECT_EQ(factors.item_changes.numbers.size(), 40);
  factors.user_changes.numbers[7] = 1;
  factors.user_changes.ratio = 0.5F;
  factors = with_changes(std::move(factors), true);
  EXPECT_EQ(factors.user_changes.numbers[7], 1);
  EXPECT_EQ(factors.user_changes.ratio, 0.5F);
  factors = with_changes(std::move(factors), false);
  EXPECT_TRUE(factors.user_changes.numbers.empty());
  EXPECT_EQ(factors.user_changes.ratio, 0.0F);
}

}  // namespace
}  // namespace likewise
