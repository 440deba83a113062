// SPDX-License-Identifier: Apache-2.0
/// Baselines by hand, by calculus, and their edges.
#include "algorithms/bias/bias.h"

#include <atomic>
#include <cmath>
#include <limits>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/rating_scale.h"
#include "likewise/bias.h"
#include "likewise/error.h"
#include "likewise/knn.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::FloatEq;
using testing::HasSubstr;

/// User 0 rated items 0 (5) and 1 (3), user 1 item 0 (1); user 2 and item 2 have no rating. The
/// mean is 3.
[[nodiscard]] CsrMatrix three_ratings() {
  const std::vector<test::Entry> entries{{0, 0, 5.0F}, {0, 1, 3.0F}, {1, 0, 1.0F}};
  return test::make_csr(3, 3, entries);
}

[[nodiscard]] Biases learned(const BiasParams& params) {
  return train_biases(three_ratings().view(), params);
}

TEST(Bias, OneEpochByHand) {
  BiasParams params;
  params.baseline_epochs = 1;
  params.baseline_item_regularization = 2.0;
  params.baseline_user_regularization = 1.0;
  const Biases als = learned(params);
  EXPECT_EQ(als.mean, 3.0F);
  // Items first, from users of 0: (2 - 2) / (2 + 2), 0 / (2 + 1); then users about them.
  EXPECT_THAT(als.items.span(), ElementsAre(0.0F, 0.0F, 0.0F));
  EXPECT_THAT(als.users.span(), ElementsAre(FloatEq(2.0F / 3.0F), -1.0F, 0.0F));
  params.baseline_epochs = 2;
  // Item 0: (5 - 3 - 2/3 + 1 - 3 + 1) / 4, item 1: (3 - 3 - 2/3) / 3.
  EXPECT_THAT(learned(params).items.span(),
              ElementsAre(FloatEq(1.0F / 12.0F), FloatEq(-2.0F / 9.0F), 0.0F));
  params.baseline_epochs = 0;
  EXPECT_THAT(learned(params).users.span(), ElementsAre(0.0F, 0.0F, 0.0F));
}

TEST(Bias, StepsByHand) {
  BiasParams params;
  params.baseline_method = BiasMethod::kSgd;
  params.baseline_epochs = 1;
  params.baseline_learning_rate = 0.1;
  params.baseline_regularization = 0.5;
  const Biases sgd = learned(params);
  // (0, 0): e = 2, both 0.2. (0, 1): e = -0.2, b_u = 0.2 + 0.1 (-0.2 - 0.1), b_i = -0.02.
  // (1, 0): e = -2.2, b_u = -0.22, b_i = 0.2 + 0.1 (-2.2 - 0.1).
  EXPECT_THAT(sgd.users.span(), ElementsAre(FloatEq(0.17F), FloatEq(-0.22F), 0.0F));
  EXPECT_THAT(sgd.items.span(), ElementsAre(FloatEq(-0.03F), FloatEq(-0.02F), 0.0F));
}

TEST(Bias, MeansOfOneSide) {
  BiasParams params;
  params.baseline = BiasKind::kGlobalMean;
  EXPECT_EQ(learned(params).mean, 3.0F);
  EXPECT_TRUE(learned(params).users.empty() && learned(params).items.empty());
  params.baseline = BiasKind::kUserMean;
  EXPECT_THAT(learned(params).users.span(), ElementsAre(1.0F, -2.0F, 0.0F));
  EXPECT_TRUE(learned(params).items.empty());
  params.baseline = BiasKind::kItemMean;
  EXPECT_THAT(learned(params).items.span(), ElementsAre(0.0F, 0.0F, 0.0F));
  EXPECT_TRUE(learned(params).users.empty());
}

/// Where the objective sum e^2 + lambda_u sum b_u^2 + lambda_i sum b_i^2 is least its derivatives
/// are 0. Biases are float32: an error of 1e-7 in each of a row's 25 entries.
TEST(Bias, ManyEpochsEndAtTheMinimum) {
  const CsrMatrix m = test::random_csr(60, 25, 9.0, 4);
  BiasParams params;
  params.baseline_epochs = 400;
  params.baseline_user_regularization = 2.0;
  params.baseline_item_regularization = 0.5;
  const Biases b = train_biases(m.view(), params);
  std::vector<double> of_users(60);
  std::vector<double> of_items(25);
  for (Index u = 0; u < m.rows; ++u) {
    of_users[u] -= params.baseline_user_regularization * double{b.users[u]};
    for (Offset e = m.offsets[u]; e < m.offsets[u + 1]; ++e) {
      const Index i = m.columns[e];
      const double error =
          double{m.values[e]} - double{b.mean} - double{b.users[u]} - double{b.items[i]};
      of_users[u] += error;
      of_items[i] += error;
    }
  }
  for (Index i = 0; i < m.cols; ++i) {
    of_items[i] -= params.baseline_item_regularization * double{b.items[i]};
  }
  for (const double slope : of_users) EXPECT_NEAR(slope, 0.0, 1e-5);
  for (const double slope : of_items) EXPECT_NEAR(slope, 0.0, 1e-5);
}

/// There is one implementation: what neighbourhoods learn beside their lists is this.
TEST(Bias, NeighbourhoodsHaveTheSameBaselines) {
  const CsrMatrix m = test::random_csr(50, 30, 7.0, 2);
  KnnParams knn = KnnParams::defaults(Feedback::kExplicit);
  BiasParams bias;
  for (const BiasMethod method : {BiasMethod::kAls, BiasMethod::kSgd}) {
    knn.baseline_method = bias.baseline_method = method;
    knn.baseline_epochs = bias.baseline_epochs = 3;
    knn.baseline_user_regularization = bias.baseline_user_regularization = 4.0;
    knn.baseline_item_regularization = bias.baseline_item_regularization = 5.0;
    knn.baseline_regularization = bias.baseline_regularization = 0.3;
    knn.baseline_learning_rate = bias.baseline_learning_rate = 0.02;
    const Biases theirs = train_knn(m.view(), knn, open_device("cpu")).biases;
    const Biases ours = train_biases(m.view(), bias);
    EXPECT_EQ(theirs.mean, ours.mean);
    EXPECT_THAT(theirs.users.span(), testing::ElementsAreArray(ours.users.span()));
    EXPECT_THAT(theirs.items.span(), testing::ElementsAreArray(ours.items.span()));
    EXPECT_NE(ours.users[0], train_biases(m.view(), {}).users[0]) << "options have effects";
  }
}

TEST(Bias, NothingToLearnFrom) {
  for (const BiasKind kind :
       {BiasKind::kBiases, BiasKind::kGlobalMean, BiasKind::kUserMean, BiasKind::kItemMean}) {
    BiasParams params;
    params.baseline = kind;
    const Biases nobody = train_biases(CsrMatrix{}.view(), params);
    EXPECT_EQ(nobody.mean, 0.0F);
    EXPECT_TRUE(nobody.users.empty() && nobody.items.empty());
    const Biases silent = train_biases(test::make_csr(2, 3, {}).view(), params);
    EXPECT_EQ(silent.mean, 0.0F);
    for (const Side side : {Side::kUsers, Side::kItems}) {
      for (const float bias : silent.bias(side)) EXPECT_EQ(bias, 0.0F);
    }
  }
}

TEST(Bias, FaultsAreNamed) {
  BiasParams params;
  const CsrMatrix m = three_ratings();
  const auto refused = [&] {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)train_biases(m.view(), params); });
  };
  params.feedback = Feedback::kImplicit;
  EXPECT_THAT(refused(), AllOf(HasSubstr("explicit"), HasSubstr("popular")));
  params = {};
  params.baseline_user_regularization = -1.0;
  EXPECT_THAT(refused(), AllOf(HasSubstr("baseline_user_regularization"), HasSubstr("-1")));
  CsrMatrix huge = three_ratings();
  huge.values[2] = std::numeric_limits<float>::max();
  EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)train_biases(huge.view(), {}); }),
              AllOf(HasSubstr("user row 1, item row 0"), HasSubstr("1e+15")));
  const std::atomic<bool> stop{true};
  for (const BiasMethod method : {BiasMethod::kAls, BiasMethod::kSgd}) {
    params = {};
    params.baseline_method = method;
    test::error_of(ErrorKind::kCancelled, [&] {
      (void)train_biases(m.view(), params, {&stop, {}});
    });
  }
}

TEST(RatingScale, EndsWhereTheRatingsDo) {
  const std::vector<float> values{2.0F, 4.5F, 1.0F};
  const RatingScale clipped(values, true);
  EXPECT_EQ(clipped(7.0), 4.5F);
  EXPECT_EQ(clipped(-7.0), 1.0F);
  EXPECT_EQ(clipped(3.25), 3.25F);
  EXPECT_EQ(RatingScale(values, false)(7.0), 7.0F);
  EXPECT_EQ(RatingScale({}, true)(7.0), 7.0F);
  EXPECT_TRUE(std::isnan(clipped(std::nan(""))));
}

}  // namespace
}  // namespace likewise
