// SPDX-License-Identifier: Apache-2.0
#include "backends/gpu/several_gpus.h"

#include <tuple>

#include <gtest/gtest.h>

#include "algorithms/neighbours/similarity.h"
#include "backends/gpu/als_cost.h"
#include "backends/gpu/als_tuning.h"
#include "backends/gpu/gpu_neighbour_cost.h"
#include "tests/support.h"

namespace likewise {
namespace {

/// One saves a half of 0.6 s and takes 0.3 s to start: more than 0.6 s is needed.
TEST(SeveralGpusPay, WhereTheySaveMoreThanTheyTakeToStart) {
  EXPECT_FALSE(several_gpus_pay(0.59, 2));
  EXPECT_TRUE(several_gpus_pay(0.61, 2));
  EXPECT_FALSE(several_gpus_pay(2.39, 8));
  EXPECT_TRUE(several_gpus_pay(2.41, 8));
  EXPECT_EQ(several_gpus_rule(2), "shared out where one GPU would take more than 0.6 s");
}

/// Two GPUs save a half of what one takes, less the half of all rows that each receives.
TEST(SeveralGpusPay, SgdSavesWhatRatingsTakeLessWhatIsExchanged) {
  const GpuSpecs specs{132, 1.98e9, 4.9e12, 60 << 20, 228 << 10, 227 << 10};
  const GpuInfo gpu{"Fine GPU", 9, 0, Offset{140} << 30, {}, specs};
  const SgdShape netflix{480'189, 17'770, 89'200'000};
  SgdParams params;
  params.factors = 128;
  params.iterations = 40;
  params.order = SgdOrder::kAlternating;
  const double exchange = 0.5 * (480'189 + 17'770) * (256 + 16) / 160e9;
  EXPECT_NEAR(seconds_saved(netflix, params, gpu, 2, true), 40 * (0.5 * 10.29e-3 - exchange),
              0.01 * 40 * 0.5 * 10.29e-3);
  EXPECT_LT(seconds_saved(netflix, params, gpu, 2, false),
            seconds_saved(netflix, params, gpu, 2, true));
  EXPECT_LT(seconds_saved(netflix, params, gpu, 2, true), seconds_to_train_together(2));
  const SgdShape hugewiki{50'082'603, 39'780, 3'101'144'313};
  EXPECT_GT(seconds_saved(hugewiki, params, gpu, 2, true), seconds_to_train_together(2));
  params.order = SgdOrder::kBlocked;
  EXPECT_EQ(seconds_saved(hugewiki, params, gpu, 2, true), 0.0);
  EXPECT_EQ(train_together_rule(2), "shared out where that is expected to save more than 0.8 s");
}

/// Of ALS on the Netflix shape two GPUs save a little less than half.
TEST(SeveralGpusPay, AlsSavesWhatTheOthersSolve) {
  const GpuSpecs specs{132, 1.98e9, 4.9e12, 60 << 20, 228 << 10, 227 << 10};
  const GpuInfo gpu{"Fine GPU", 9, 0, Offset{140} << 30, {}, specs};
  const AlsShape netflix{480'189, 17'770, 99'072'112};
  AlsParams params;
  params.factors = 128;
  params.iterations = 200;
  params.precision = Precision::kFp16;
  const AlsTuning tuning{128, 80, 80, 4096};
  const double alone = estimated_seconds(gpu, als_work(params), tuning, netflix.interactions);
  EXPECT_NEAR(alone, 0.020, 0.004);  // docs/performance.md
  const double saved = seconds_saved(netflix, params, tuning, gpu, 2, true);
  EXPECT_GT(saved, 200 * 0.45 * alone);
  EXPECT_LT(saved, 200 * 0.50 * alone);
  EXPECT_LT(seconds_saved(netflix, params, tuning, gpu, 2, false), saved);
  EXPECT_GT(saved, seconds_to_train_together(2));
  params.iterations = 10;
  EXPECT_LT(seconds_saved(netflix, params, tuning, gpu, 2, true), seconds_to_train_together(2));
}

/// By the counts of the problem, as a GPU itself expects it.
TEST(SeveralGpusPay, ASearchTakesWhatItsCountsSay) {
  const GpuSpecs specs{132, 1.98e9, 4.9e12, 60 << 20, 228 << 10, 227 << 10};
  const GpuInfo gpu{"Fine GPU", 9, 0, Offset{140} << 30, {}, specs};
  const CsrMatrix matrix = test::random_csr(400, 50, 6.0, 5);
  double common = 0.0;
  const CsrMatrix by_column = transpose(matrix.view());
  for (Index c = 0; c < 50; ++c) {
    const auto entries = static_cast<double>(by_column.view().row_size(c));
    common += entries * entries;
  }
  const Baselines none;
  for (const auto& [similarity, sums, dense] : {std::tuple{Similarity::kCosine, 1, true},
                                                {Similarity::kJaccard, 1, false},
                                                {Similarity::kPearson, 6, false}}) {
    NeighbourParams params = NeighbourParams::defaults(Feedback::kImplicit);
    params.side = Side::kUsers;
    params.similarity = similarity;
    const SimilarityProblem problem(matrix.view(), params, none);
    const NeighbourWork work{400, 50, matrix.nnz(), common, sums, 16, 20, dense};
    const NeighbourCost cost = gpu_neighbour_cost(work, gpu);
    EXPECT_EQ(seconds_of_search(problem, 20, gpu), std::min(cost.sparse, cost.dense));
  }
}

}  // namespace
}  // namespace likewise
