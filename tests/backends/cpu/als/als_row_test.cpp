// SPDX-License-Identifier: Apache-2.0
/// Parts of a row's solution on the CPU.
#include "backends/cpu/als/als_row.h"

#include <vector>

#include <gtest/gtest.h>

namespace likewise {
namespace {

TEST(AlsRow, ASampleHasEveryFourthTile) {
  constexpr Offset kCount = 100;  // 12 tiles of 8, and 4 of another
  constexpr Index kWidth = 20;
  AlsParams params;
  params.alpha = 1.0;
  params.unobserved_weight.reset();
  Matrix table(kCount, kWidth);
  std::vector<Index> columns;
  std::vector<float> values;
  for (Index i = 0; i < kCount; ++i) {
    columns.push_back(i);
    values.push_back(static_cast<float>(i + 1));
    for (Index j = 0; j < kWidth; ++j) table.row(i)[j] = 0.1F * static_cast<float>(i % 7 - j % 5);
  }
  const AlsBasis basis;
  const AlsRowContext context{
      stored_rows(table), 1.0F, basis, params, kernels::Weighing::of(params), kCount};
  Matrix p(1, kWidth);
  for (Index j = 0; j < kWidth; ++j) p.data()[j] = static_cast<float>(j % 3 + 1);
  for (const Offset first : {0, 1, 3, 12, 13}) {
    SCOPED_TRACE(first);
    Offset wanted_count = 0;
    double wanted = 0.0;
    for (Index i = 0; i < kCount; ++i) {
      if (i / 8 < first || (i / 8 - first) % 4 != 0) continue;
      ++wanted_count;
      double q = 0.0;
      for (Index j = 0; j < kWidth; ++j) q += double{table.row(i)[j]} * p.data()[j];
      wanted += (i + 1) * q * q;
    }
    SegmentBuffer buffer;
    double constant = 0.0;
    const kernels::Segment all =
        buffer.fill(context, columns.data(), values.data(), kCount, constant);
    Offset count = -1;
    const kernels::Segment part = buffer.sample(all, first, count);
    EXPECT_EQ(count, wanted_count);
    EXPECT_NEAR(kernels::curvature(part, p.data()), wanted, 1e-5 * wanted);
  }
}

TEST(AlsRow, OnlyAutoSamplesCurvatureAndOnlyOfLongRows) {
  AlsParams params;
  Matrix table(1, 16);
  const AlsBasis basis;
  const auto samples = [&](Offset count) {
    const AlsRowContext context{
        stored_rows(table), 1.0F, basis, params, kernels::Weighing::of(params), 1};
    return context.samples_curvature(count);
  };
  EXPECT_TRUE(samples(256));
  EXPECT_FALSE(samples(255));
  params.solver = AlsSolverKind::kCg;
  EXPECT_FALSE(samples(1000));
  params.solver = AlsSolverKind::kAuto;
  params.feedback = Feedback::kExplicit;
  EXPECT_FALSE(samples(1000));
  params.feedback = Feedback::kImplicit;
  params.confidence = Confidence::kGiven;
  params.unobserved_weight.reset();
  EXPECT_FALSE(samples(1000));
}

}  // namespace
}  // namespace likewise
