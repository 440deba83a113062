// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <functional>
#include <memory>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/error.h"
#include "likewise/recommender.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr BiasKind kKinds[] = {BiasKind::kBiases, BiasKind::kGlobalMean, BiasKind::kUserMean,
                               BiasKind::kItemMean};

[[nodiscard]] Recommender trained(const CsrMatrix& ratings, const TrainingParams& params) {
  Interactions data;
  data.users = IdMap::range(ratings.rows);
  data.items = IdMap::range(ratings.cols);
  data.by_user = ratings.share();
  const Device device = open_device("cpu");
  return {std::make_shared<const Model>(train(data, params, device)), device};
}

[[nodiscard]] BiasParams of_kind(BiasKind kind) {
  BiasParams params;
  params.baseline = kind;
  return params;
}

[[nodiscard]] float asked(const Recommender& r, Index user, Index item) {
  return r.predict(std::vector<Index>{user}, std::vector<Index>{item})[0];
}

/// Items 0 to 3 have 3, 2, 1 and 0 ratings; user 2 has none.
[[nodiscard]] CsrMatrix few_ratings() {
  const std::vector<test::Entry> entries{{0, 0, 5.0F}, {0, 1, 4.0F}, {0, 2, 3.0F},
                                         {1, 0, 2.0F}, {1, 1, 1.0F}, {3, 0, 3.0F}};
  return test::make_csr(4, 4, entries);
}

TEST(BiasPredictor, MeansAndWhatTheyFallBackOn) {
  const CsrMatrix ratings = few_ratings();
  const Recommender global = trained(ratings, of_kind(BiasKind::kGlobalMean));
  const Recommender user = trained(ratings, of_kind(BiasKind::kUserMean));
  const Recommender item = trained(ratings, of_kind(BiasKind::kItemMean));
  for (const Index u : {-1, 0, 1, 2, 3}) {
    for (const Index i : {-1, 0, 1, 2, 3}) {
      EXPECT_FLOAT_EQ(asked(global, u, i), 3.0F);
      EXPECT_FLOAT_EQ(asked(user, u, i), u == 0 ? 4.0F : u == 1 ? 1.5F : 3.0F);
      EXPECT_FLOAT_EQ(asked(item, u, i), i == 0 ? 10.0F / 3.0F : i == 1 ? 2.5F : 3.0F);
    }
  }
}

TEST(BiasPredictor, BiasesOfUnknownSidesAreLeftOut) {
  const Recommender r = trained(few_ratings(), BiasParams{});
  const Biases& b = *r.model().biases();
  EXPECT_FLOAT_EQ(asked(r, 0, 1), b.mean + b.users[0] + b.items[1]);
  EXPECT_FLOAT_EQ(asked(r, -1, 1), b.mean + b.items[1]);
  EXPECT_FLOAT_EQ(asked(r, 0, -1), b.mean + b.users[0]);
  EXPECT_FLOAT_EQ(asked(r, -1, -1), b.mean);
  EXPECT_NE(b.users[0], 0.0F);
  EXPECT_NE(b.items[1], 0.0F);
}

/// Every way to ask for a rating gives the same one.
TEST(BiasPredictor, AllAnswersAgree) {
  const CsrMatrix ratings = test::random_csr(20, 15, 5.0, 3);
  for (const BiasKind kind : kKinds) {
    const Recommender r = trained(ratings, of_kind(kind));
    std::vector<float> all(20 * 15);
    std::vector<Index> users(20);
    for (Index u = 0; u < 20; ++u) users[static_cast<std::size_t>(u)] = u;
    r.score_all(users, all.data());
    std::size_t missing = 0;
    (void)r.predict_missing(
        [&](Side side, Index u, std::span<const Index> items, std::span<const float> predictions) {
          EXPECT_EQ(side, Side::kUsers);
          for (std::size_t e = 0; e < items.size(); ++e, ++missing) {
            EXPECT_EQ(predictions[e], all[static_cast<std::size_t>(u * 15 + items[e])]);
          }
        });
    EXPECT_EQ(missing, 300 - static_cast<std::size_t>(ratings.nnz()));
    for (Index u = 0; u < 20; ++u) {
      for (Index i = 0; i < 15; ++i) {
        EXPECT_FLOAT_EQ(asked(r, u, i), all[static_cast<std::size_t>(u * 15 + i)]);
      }
    }
  }
}

/// A bias of an outside user is one step of ALS; a mean is the mean.
TEST(BiasPredictor, OutsideUsersGetABiasFromTheirRatings) {
  const FoldInRow row{{1, 0}, {2.0F, 5.0F}};
  const auto asked_new = [&](const Recommender& r) {
    return r.predict_new({&row, 1}, std::vector<Index>{0, 3});
  };
  BiasParams params;
  params.baseline_user_regularization = 3.0;
  const Recommender r = trained(few_ratings(), params);
  const Biases& b = *r.model().biases();
  const double bias =
      (2.0 + 5.0 - 2.0 * double{b.mean} - double{b.items[0]} - double{b.items[1]}) / (3.0 + 2.0);
  const auto level = static_cast<float>(double{b.mean} + bias);
  EXPECT_THAT(asked_new(r), ElementsAre(testing::FloatEq(level + b.items[0]),
                                        testing::FloatEq(level + b.items[3])));
  EXPECT_NE(level, b.mean);
  const auto of = [&](BiasKind kind) { return asked_new(trained(few_ratings(), of_kind(kind))); };
  EXPECT_THAT(of(BiasKind::kUserMean), ElementsAre(3.5F, 3.5F));
  EXPECT_THAT(of(BiasKind::kGlobalMean), ElementsAre(3.0F, 3.0F));
  EXPECT_THAT(of(BiasKind::kItemMean), ElementsAre(testing::FloatEq(10.0F / 3.0F), 3.0F));
  // Nothing rated: nothing known.
  const FoldInRow silent;
  EXPECT_FLOAT_EQ(r.predict_new({&silent, 1}, std::vector<Index>{1})[0], b.mean + b.items[1]);
}

/// A user who was trained to the end is the same as an outside one with the same ratings.
TEST(BiasPredictor, ATrainedUserIsNoStranger) {
  const CsrMatrix ratings = test::random_csr(30, 12, 6.0, 9);
  const Recommender r = trained(ratings, BiasParams{});
  const auto columns = ratings.view().row_columns(7);
  const auto values = ratings.view().row_values(7);
  const FoldInRow row{{columns.begin(), columns.end()}, {values.begin(), values.end()}};
  // Users come last in an epoch, so the step from the biases of the items is the one made.
  EXPECT_NEAR(r.predict_new({&row, 1}, std::vector<Index>{4})[0], asked(r, 7, 4), 1e-6);
}

TEST(BiasPredictor, PredictionsEndWithTheScale) {
  // User 0 likes item 1 better, and user 1 gives more to what both know.
  const std::vector<test::Entry> entries{{0, 0, 1.0F}, {0, 1, 4.0F}, {1, 0, 5.0F}};
  BiasParams params;
  params.baseline_user_regularization = params.baseline_item_regularization = 0.0;
  const CsrMatrix ratings = test::make_csr(2, 2, entries);
  const Recommender clipped = trained(ratings, params);
  EXPECT_EQ(asked(clipped, 1, 1), 5.0F);
  EXPECT_EQ(clipped.recommend(std::vector<Index>{1}, {.n = 1}).scores[0], 5.0F);
  params.clip = false;
  const Recommender open = trained(ratings, params);
  EXPECT_GT(asked(open, 1, 1), 6.0F);
  EXPECT_EQ(open.recommend(std::vector<Index>{1}, {.n = 1}).scores[0], asked(open, 1, 1));
}

/// Lists go by the biases of the items, also where clipped scores are all alike.
TEST(BiasPredictor, ListsAreTheSameForEverybodyButForWhatTheyHave) {
  const CsrMatrix ratings = test::random_csr(25, 18, 6.0, 5);
  for (const BiasKind kind : {BiasKind::kBiases, BiasKind::kItemMean}) {
    BiasParams params = of_kind(kind);
    params.baseline_user_regularization = params.baseline_item_regularization = 0.0;
    const Recommender r = trained(ratings, params);
    const Array<float>& biases = r.model().biases()->items;
    std::vector<Index> order(18);
    for (Index i = 0; i < 18; ++i) order[static_cast<std::size_t>(i)] = i;
    std::ranges::stable_sort(order, std::ranges::greater{}, [&](Index i) { return biases[i]; });
    std::size_t clipped = 0;
    for (Index u = 0; u < 25; ++u) {
      const std::vector<Index> user{u};
      const TopKResult all = r.recommend(user, {.n = 18, .include_seen = true});
      EXPECT_TRUE(std::ranges::equal(all.items.span(), order));
      std::vector<Index> unseen;
      const auto seen = ratings.view().row_columns(u);
      std::ranges::copy_if(order, std::back_inserter(unseen),
                           [&](Index i) { return !std::ranges::binary_search(seen, i); });
      const TopKResult top = r.recommend(user, {.n = 18});
      ASSERT_EQ(top.counts[0], std::ssize(unseen));
      for (Index e = 0; e < top.counts[0]; ++e) {
        EXPECT_EQ(top.items[e], unseen[static_cast<std::size_t>(e)]);
        EXPECT_FLOAT_EQ(top.scores[e], asked(r, u, top.items[e]));
        clipped += top.scores[e] == 5.0F ? 1 : 0;
      }
    }
    EXPECT_EQ(clipped > 10, kind == BiasKind::kBiases) << "that case has ties of scores";
    const FoldInRow row{{order[1]}, {4.0F}};
    const TopKResult stranger = r.recommend_new({&row, 1}, {.n = 2});
    EXPECT_THAT(stranger.items.span(), ElementsAre(order[0], order[2]));
  }
}

TEST(BiasPredictor, WhatHasNoAnswerSaysWhatToUse) {
  const FoldInRow row{{1}, {3.0F}};
  const std::vector<Index> first{0};
  for (const BiasKind kind : kKinds) {
    const Recommender r = trained(few_ratings(), of_kind(kind));
    const auto why = [](const std::function<void()>& ask) {
      return test::error_of(ErrorKind::kInvalidArgument, ask);
    };
    EXPECT_THAT(
        why([&] { (void)r.similar(Side::kItems, first, 2, SimilarityMetric::kCosine); }),
        HasSubstr("bias has no similar rows: train with another algorithm, as algorithm als"));
    EXPECT_THAT(why([&] { (void)r.explain(row, 2); }), HasSubstr("algorithm als"));
    EXPECT_THAT(why([&] { (void)r.fold_in(Side::kUsers, {&row, 1}); }), HasSubstr("algorithm als"));
    EXPECT_THAT(why([&] { (void)r.similar_new({&row, 1}, 2); }), HasSubstr("user-knn"));
    const bool ranks = kind == BiasKind::kBiases || kind == BiasKind::kItemMean;
    EXPECT_EQ(r.model().ranks_items(), ranks);
    EXPECT_TRUE(r.model().predicts_ratings());
    if (ranks) continue;
    EXPECT_THAT(why([&] { (void)r.recommend(first, {}); }), HasSubstr("baseline biases"));
    EXPECT_THAT(why([&] { (void)r.recommend_new({&row, 1}, {}); }), HasSubstr("baseline biases"));
  }
}

/// Shares of users were taken for ratings.
TEST(PopularPredictor, PredictsNoRatings) {
  const FoldInRow row{{1}, {3.0F}};
  const std::vector<Index> first{0};
  const Recommender stars = trained(few_ratings(), PopularParams{Feedback::kExplicit});
  for (const std::function<void()>& ask :
       std::vector<std::function<void()>>{[&] { (void)stars.predict(first, first); },
                                          [&] {
                                            (void)stars.predict_new({&row, 1}, first);
                                          },
                                          [&] { (void)stars.predict_missing([](auto&&...) {}); }}) {
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, ask), HasSubstr("algorithm bias"));
  }
  EXPECT_EQ(stars.recommend(first, {.n = 1}).items[0], 3) << "lists are what it is for";
  const Recommender plays = trained(few_ratings(), PopularParams{});
  EXPECT_FLOAT_EQ(asked(plays, 0, 0), 0.75F);
}

}  // namespace
}  // namespace likewise
