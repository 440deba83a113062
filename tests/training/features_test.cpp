// SPDX-License-Identifier: Apache-2.0
/// What models learn of tags.
#include "likewise/features.h"

#include <cmath>
#include <random>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "core/linalg/ridge.h"
#include "likewise/als.h"
#include "likewise/evaluation.h"
#include "likewise/model.h"
#include "likewise/query.h"
#include "likewise/recommender.h"
#include "likewise/split.h"
#include "likewise/training.h"
#include "likewise/update.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise::test {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

TEST(Ridge, SolvesTheNormalEquations) {
  constexpr double kLambda = 0.7;
  const CsrMatrix v = random_csr(60, 21, 4.0);
  std::mt19937_64 random(3);
  std::normal_distribution<float> normal;
  Matrix y(60, 19);  // more than the columns that are solved together
  for (Index row = 0; row < 60; ++row) {
    for (float& one : y.row_span(row)) one = normal(random);
  }
  const Matrix w = ridge_regression(v.view(), y.view(), kLambda, nullptr, {});
  const Matrix through = multiply_sparse(v.view(), w.view());
  // V^T (Y - V W) = lambda W; the residual is a millionth of V^T Y, which is below 100 here.
  std::vector<std::vector<double>> left(21, std::vector<double>(19));
  for (Index row = 0; row < 60; ++row) {
    for (Offset e = v.offsets[row]; e < v.offsets[row + 1]; ++e) {
      for (std::size_t c = 0; c < 19; ++c) {
        left[static_cast<std::size_t>(v.columns[e])][c] +=
            double{v.values[e]} * (double{y.row_span(row)[c]} - double{through.row_span(row)[c]});
      }
    }
  }
  for (Index t = 0; t < 21; ++t) {
    for (std::size_t c = 0; c < 19; ++c) {
      EXPECT_NEAR(left[static_cast<std::size_t>(t)][c], kLambda * double{w.row_span(t)[c]}, 1e-4);
    }
  }
  const Matrix again = ridge_regression(v.view(), y.view(), kLambda, &w, {});
  EXPECT_NEAR(double{again.row(3)[2]}, double{w.row(3)[2]}, 1e-5);
}

/// Users 0-19 like items of "a", users 20-39 those of "b"; items 1-10 are "a", 11-20 "b".
Interactions two_tastes(bool with_ratings = false) {
  std::mt19937_64 random(1);
  std::vector<Entry> entries;
  for (Index user = 0; user < 40; ++user) {
    for (Index item = 0; item < 20; ++item) {
      const bool own = (user < 20) == (item < 10);
      if (random() % 10 < (own || with_ratings ? 7U : 1U)) {
        entries.push_back({user, item, with_ratings ? (own ? 5.0F : 1.0F) : 1.0F});
      }
    }
  }
  std::vector<std::int64_t> items;
  for (Index item = 0; item < 20; ++item) items.push_back(item + 1);
  Interactions data;
  data.users = IdMap::range(40);
  data.items = IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(items));
  data.by_user = make_csr(40, 20, entries);
  return data;
}

constexpr const char* kTags = R"(id,tag
1,a
2,a
3,a
4,a
5,a
6,a|big
7,a|big
8,a|lonely
9,a
10,a
11,b
12,b
13,b
14,b|big
15,b
16,b
17,b
18,b
0,a
30,b
31,a|big
32,never
33,never
)";

FeatureTable table(const std::string& text, Side side = Side::kItems) {
  return features_from_text(text, "f.csv", side);
}

Model trained(const Interactions& data, const TrainingParams& params = AlsParams{.factors = 8}) {
  return train(prepare(request_of(params), data), data);
}

std::vector<Index> best(const Model& model, Index user, std::span<const Index> among) {
  const auto shared = std::make_shared<Model>();
  shared->params = model.params;
  shared->users = model.users.share();
  shared->items = model.items.share();
  shared->history = model.history.share();
  shared->learned = model.factors()->clone();
  const Recommender recommender(shared, open_device("cpu"));
  RecommendOptions options;
  options.n = 100;
  options.allow = among;
  const TopKResult top = recommender.recommend(std::span(&user, 1), options);
  return {top.items.begin(), top.items.begin() + top.counts[0]};
}

TEST(Features, ItemsThatNobodyTouchedAreRankedByTheirTags) {
  const Interactions data = two_tastes();
  for (const TrainingParams& params :
       {TrainingParams(AlsParams{.factors = 8}), TrainingParams(BprParams{.factors = 8}),
        TrainingParams(SpectralParams{.factors = 8})}) {
    Model model = trained(data, params);
    const Model before = trained(data, params);
    const LearnedFeatures learned = add_features(model, Side::kItems, table(kTags));
    model.validate();
    EXPECT_EQ(learned.joined, 5);
    EXPECT_EQ(learned.cold, 3);
    EXPECT_EQ(learned.strangers, 2) << "of 'never' nothing is known";
    EXPECT_EQ(learned.untagged, 2);
    EXPECT_EQ(model.items.size(), 25);
    EXPECT_EQ(model.items.name(0), "0");
    const std::vector<Index> cold = rows_by_features(model, Side::kItems);
    ASSERT_EQ(cold.size(), 3U);
    EXPECT_EQ(model.items.name(best(model, 3, cold).front()), "0") << algorithm_name(params);
    EXPECT_EQ(model.items.name(best(model, 33, cold).front()), "30") << algorithm_name(params);
    for (Index item = 0; item < 20; ++item) {  // all others keep their bits
      const auto now = model.factors()->items.row_span(item + 1);
      const auto then = before.factors()->items.row_span(item);
      EXPECT_TRUE(std::ranges::equal(now, then)) << item;
    }
    EXPECT_TRUE(std::ranges::equal(model.factors()->users.row_span(7),
                                   before.factors()->users.row_span(7)));
  }
}

TEST(Features, AreASumOverTags) {
  Model model = trained(two_tastes());
  const LearnedFeatures learned = add_features(model, Side::kItems, table(kTags), {0.5});
  EXPECT_EQ(learned.regularization, 0.5);
  const Features& features = model.item_features;
  const auto row = static_cast<Index>(*model.items.find("31"));
  const std::vector<TagShare> shares = tag_shares(features, row);
  ASSERT_EQ(shares.size(), 2U);
  // 23 rows have a tag (20 items less two, five joined); 12 carry "a", 4 "big".
  const double a = std::log1p(23.0 / 12.0);
  const double big = std::log1p(23.0 / 4.0);
  const double length = std::hypot(a, big);
  EXPECT_NEAR(shares[0].share, a / length, 1e-6);
  EXPECT_NEAR(shares[1].share, big / length, 1e-6);
  for (std::size_t c = 0; c < 8; ++c) {
    const double sum = shares[0].share * double{features.factors.row_span(shares[0].tag)[c]} +
                       shares[1].share * double{features.factors.row_span(shares[1].tag)[c]};
    EXPECT_NEAR(sum, double{model.factors()->items.row_span(row)[c]}, 1e-6);
  }
  const auto lonely = static_cast<Index>(*features.tags.find("lonely"));
  EXPECT_EQ(features.idf[lonely], 0.0F) << "one item alone teaches nothing";
}

TEST(Features, PredictRatingsWithBiases) {
  Model model = trained(two_tastes(true), AlsParams::defaults(Feedback::kExplicit));
  (void)add_features(model, Side::kItems, table(kTags));
  model.validate();
  const auto item = static_cast<Index>(*model.items.find("30"));
  const auto shared = std::make_shared<Model>(std::move(model));
  const Recommender recommender(shared, open_device("cpu"));
  const Index users[] = {3, 33};
  const Index items[] = {item, item};
  const std::vector<float> ratings = recommender.predict(users, items);
  EXPECT_LT(ratings[0], ratings[1]);
  EXPECT_GT(ratings[1], 3.5F);
}

TEST(Features, OfUsersWorkLikewise) {
  std::string text = "userId,taste\n";
  for (int user = 0; user < 40; ++user) {
    text += std::to_string(user) + (user < 20 ? ",left\n" : ",right\n");
  }
  Model model = trained(two_tastes());
  const LearnedFeatures learned =
      add_features(model, Side::kUsers, table(text + "77,right\n", Side::kUsers));
  model.validate();
  EXPECT_EQ(learned.cold, 1);
  const auto row = static_cast<Index>(*model.users.find("77"));
  EXPECT_GE(best(model, row, {}).front(), 10);
  EXPECT_EQ(model.history.rows, 41);
}

std::string tastes_of_users() {
  std::string text = "userId,taste,age\n";
  for (int user = 0; user < 40; ++user) {
    text += fmt::format("{},{},{}\n", user, user < 20 ? "left" : "right", 20 + user);
  }
  return text;
}

TEST(Features, VisitorsAreAnsweredAsUsersThatJoinedByThem) {
  AlsParams nonnegative{.factors = 8};
  nonnegative.nonnegative = true;
  AlsParams ratings = AlsParams::defaults(Feedback::kExplicit);
  ratings.factors = 8;
  for (const TrainingParams& params :
       {TrainingParams(AlsParams{.factors = 8}), TrainingParams(nonnegative),
        TrainingParams(ratings), TrainingParams(BprParams{.factors = 8})}) {
    const auto model = std::make_shared<Model>(
        trained(two_tastes(feedback_of(params) == Feedback::kExplicit), params));
    (void)add_features(*model, Side::kUsers,
                       table(tastes_of_users() + "77,right,57\n", Side::kUsers));
    const IdMap& known = model->user_features.tags;
    const FeatureTable asked = features_from_text("id,taste,age\nanna,right,57\n", "v.csv",
                                                  Side::kUsers, {.known = &known});
    const Visitors visitors = visitors_of(*model, asked);
    ASSERT_EQ(visitors.rows.size(), 1U);
    EXPECT_EQ(visitors.rows[0].tags.size(), 2U);
    const Recommender recommender(model, open_device("cpu"));
    const Index joined = *model->users.find("77");
    const TopKResult usual = recommender.recommend(std::span(&joined, 1), {.n = 20});
    const TopKResult found = recommender.recommend_new(visitors.rows, {.n = 20});
    ASSERT_EQ(found.counts[0], 20);
    EXPECT_TRUE(std::ranges::equal(found.items.span(), usual.items.span()));
    for (Offset e = 0; e < 20; ++e) EXPECT_NEAR(found.scores[e], usual.scores[e], 1e-5);
    EXPECT_GE(found.items[0], 10) << "of the right";
  }
}

TEST(Features, VisitorsNeedTagsThatWereLearned) {
  const auto model = std::make_shared<Model>(trained(two_tastes()));
  const Recommender plain(model, open_device("cpu"));
  const auto asked = [](const std::string& text) { return table(text, Side::kUsers); };
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [&] { (void)visitors_of(*model, asked("id,taste\nanna,left\n")); }),
              HasSubstr("has learned no features of users"));
  FoldInRow row{{}, {}, {0}, {1.0F}};
  const auto refused = [&](const Recommender& by) {
    return error_of(ErrorKind::kInvalidArgument,
                    [&] { (void)by.recommend_new(std::span(&row, 1), {.n = 3}); });
  };
  EXPECT_THAT(refused(plain), HasSubstr("has learned no features"));
  (void)add_features(*model, Side::kUsers, table(tastes_of_users(), Side::kUsers));
  const FeatureTable two = asked("id,taste,x\nanna,green,1\nbob,left,1\n");
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { (void)visitors_of(*model, two); }),
              HasSubstr("user 'anna': the model has learned none of the features, such as"));
  const Visitors some = visitors_of(*model, two, UnknownIds::kLeaveOut);
  EXPECT_THAT(some.names, ElementsAre("bob"));
  EXPECT_EQ(some.strangers, 1);
  const Recommender recommender(model, open_device("cpu"));
  EXPECT_NO_THROW((void)recommender.recommend_new(some.rows, {.n = 3}));
  EXPECT_THAT(
      error_of(ErrorKind::kInvalidArgument, [&] { (void)recommender.explain(some.rows[0], 3); }),
      HasSubstr("it needs a history"));
  row.columns = {3};
  EXPECT_THAT(refused(recommender), HasSubstr("by a history or by features, not by both"));
  row = {{}, {}, {500}, {1.0F}};
  EXPECT_THAT(refused(recommender), HasSubstr("tag 500 is outside"));
  row = {{}, {}, {1, 1}, {1.0F, 1.0F}};
  EXPECT_THAT(refused(recommender), HasSubstr("not after the one before it"));
  row = {{}, {}, {1}, {0.0F}};
  EXPECT_THAT(refused(recommender), HasSubstr("no number above 0"));
}

TEST(Features, OfVisitorsAreThoseOfColumnsThatWereLearned) {
  const auto model = std::make_shared<Model>(trained(two_tastes()));
  (void)add_features(*model, Side::kUsers, table(tastes_of_users(), Side::kUsers));
  const FeatureTable asked =
      features_from_text("id,taste,Age\nanna,right,57\n", "v.csv", Side::kUsers,
                         {.known = &model->user_features.tags});
  EXPECT_THAT(error_of(ErrorKind::kBadData,
                       [&] { (void)visitors_of(*model, asked, UnknownIds::kLeaveOut); }),
              HasSubstr("the model has learned no feature 'Age'; its features are age, taste."));
}

TEST(Features, OfVisitorsAreTheReasons) {
  const auto model = std::make_shared<Model>(trained(two_tastes()));
  (void)add_features(*model, Side::kUsers, table(tastes_of_users(), Side::kUsers));
  const Queries queries(model, open_device("cpu"));
  const Visitors visitors = visitors_of(*model, table("id,taste,x\nanna,right,1\n", Side::kUsers));
  std::vector<std::string> reasons;
  (void)queries.recommend({visitors, 1, false, {}, {}, 3}, [&](const AnswerList& list) {
    for (const Reason& one : list.answers.at(0).reasons) reasons.push_back(one.item);
  });
  EXPECT_THAT(reasons, ElementsAre("taste=right"));
}

TEST(Features, AreTheReasonsOfUsersThatJoinedByThem) {
  const auto model = std::make_shared<Model>(trained(two_tastes()));
  (void)add_features(
      *model, Side::kUsers,
      table("userId,taste\n1,left\n2,left\n30,right\n31,right\n77,right\n", Side::kUsers));
  const Queries queries(model, open_device("cpu"));
  std::vector<std::string> reasons;
  const std::vector<Index> joined{*model->users.find("77")};
  (void)queries.recommend({joined, 1, false, {}, {}, 3}, [&](const AnswerList& list) {
    for (const Reason& one : list.answers.at(0).reasons) reasons.push_back(one.item);
  });
  EXPECT_THAT(reasons, ElementsAre("right"));
}

TEST(Features, AreCheckedBeforeATraining) {
  const Interactions data = two_tastes();
  const auto checked = [&](const std::string& text, Side side = Side::kItems) {
    FeatureTables tables;
    (side == Side::kItems ? tables.items : tables.users) = table(text, side);
    check_features(data, tables);
  };
  EXPECT_NO_THROW(checked(kTags));
  EXPECT_NO_THROW(checked(tastes_of_users(), Side::kUsers));
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { checked("id,tag\n1,a\n2,b\n"); }),
              HasSubstr("carries a tag that another one has"));
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { checked("id,tag\n98,a\n99,a\n1,b\n"); }),
              HasSubstr("carries a tag that another one has"));
  EXPECT_THAT(error_of(ErrorKind::kBadData, [&] { checked("id,tag\nx,a\ny,a\n"); }),
              HasSubstr("none of the 2 ids"));
}

TEST(Features, OfModelsWithoutNegativeFactorsAreNotNegative) {
  AlsParams params{.factors = 8};
  params.nonnegative = true;
  Model model = trained(two_tastes(), params);
  (void)add_features(model, Side::kItems, table(kTags));
  for (Index item = 0; item < model.items.size(); ++item) {
    for (const float x : model.factors()->items.row_span(item)) EXPECT_GE(x, 0.0F);
  }
}

TEST(Features, StayWithAModelThatGrows) {
  const Interactions data = two_tastes();
  Model model = trained(data);
  (void)add_features(model, Side::kItems, table(kTags));
  Interactions more;
  more.users = IdMap::range(41);
  more.items = IdMap::from_text(std::vector<std::string>{"31", "x"});
  std::vector<Entry> entries;
  for (Index user = 20; user < 41; ++user) entries.push_back({user, 0, 1.0F});
  entries.push_back({40, 1, 1.0F});
  more.by_user = make_csr(41, 2, entries);
  UpdatedModel updated = update_model(model, more, {}, open_device("cpu"));
  Model& grown = updated.model;
  grown.validate();
  EXPECT_EQ(grown.item_features.regularization, model.item_features.regularization);
  EXPECT_EQ(grown.item_features.weights.nnz(), model.item_features.weights.nnz());
  const std::vector<Index> cold = rows_by_features(grown, Side::kItems);
  EXPECT_EQ(cold.size(), 2U) << "item 31 has interactions now";
  EXPECT_EQ(grown.items.name(best(grown, 3, cold).front()), "0");
  // New items of known tags join.
  const LearnedFeatures learned = add_features(grown, Side::kItems, table("id,tag\n1,a\n50,b\n"));
  grown.validate();
  EXPECT_EQ(learned.joined, 1);
  EXPECT_EQ(grown.item_features.weights.nnz(), model.item_features.weights.nnz() + 1);
  const std::vector<Index> now = rows_by_features(grown, Side::kItems);
  EXPECT_EQ(grown.items.name(best(grown, 33, now).back()), "0") << "and the last is of 'a'";
}

TEST(Features, AreRefusedWhereTheyTeachNothing) {
  const Interactions data = two_tastes();
  const auto refused = [&](const std::string& text, ErrorKind kind = ErrorKind::kBadData,
                           const TrainingParams& params = AlsParams{.factors = 4},
                           const FeatureLearning& how = {}) {
    return error_of(kind, [&] {
      Model model = trained(data, params);
      (void)add_features(model, Side::kItems, table(text), how);
    });
  };
  EXPECT_THAT(refused("id,tag\nx,a\ny,a\n"), HasSubstr("none of the 2 ids, such as 'x', is that of "
                                                       "an item"));
  EXPECT_THAT(refused("id,tag\n1,a\n2,b\n"), HasSubstr("nothing can be learned"));
  EXPECT_THAT(refused("id,tag\n99,a\n98,a\n1,b\n"), HasSubstr("nothing can be learned"));
  EXPECT_THAT(refused(kTags, ErrorKind::kInvalidArgument, PopularParams{}),
              HasSubstr("popular has none"));
  EXPECT_THAT(refused(kTags, ErrorKind::kInvalidArgument, KnnParams{}),
              HasSubstr("item-knn has none"));
  EXPECT_THAT(refused(kTags, ErrorKind::kInvalidArgument, AlsParams{.factors = 4}, {0.0}),
              HasSubstr("must be in [1e-06, 1e+09], not 0"));
}

TEST(Features, AModelWithThemIsNotResumed) {
  const Interactions data = two_tastes();
  Model model = trained(data);
  (void)add_features(model, Side::kItems, table(kTags));
  TrainingRequest request = request_of(model.params);
  request.resume = &model;
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)prepare(request, data); }),
              HasSubstr("learned features"));
}

TEST(Features, EvaluationOfSomeItems) {
  const Interactions all = two_tastes();
  const std::vector<Split> cut =
      split(all, {.method = SplitMethod::kColdItems, .test = 0.2, .seed = 4});
  const Split& parts = cut.front();
  std::vector<bool> seen(20);
  for (const Index item : parts.train.by_user.columns) seen[static_cast<std::size_t>(item)] = true;
  Index hidden = 0;
  for (const Index item : parts.test.by_user.columns) {
    EXPECT_FALSE(seen[static_cast<std::size_t>(item)]);
  }
  for (Index item = 0; item < 20; ++item) hidden += seen[static_cast<std::size_t>(item)] ? 0 : 1;
  EXPECT_EQ(hidden, 4);
  Model model = trained(parts.train);
  (void)add_features(model, Side::kItems, table(kTags));
  const std::vector<Index> cold = rows_by_features(model, Side::kItems);
  const auto shared = std::make_shared<Model>(std::move(model));
  const TestSet test = make_test_set(*shared, parts.test);
  EvaluateOptions options;
  options.items = cold;
  options.metrics = {"ndcg", "recall"};
  const Recommender recommender(shared, open_device("cpu"));
  const EvaluationReport among = evaluate(recommender, test, options);
  options.items = {};
  const EvaluationReport of_all = evaluate(recommender, test, options);
  EXPECT_GT(among.metrics.at("ndcg@10"), of_all.metrics.at("ndcg@10"));
  options.items = cold;
  options.metrics = {"auc"};
  EXPECT_THAT(
      error_of(ErrorKind::kInvalidArgument, [&] { (void)evaluate(recommender, test, options); }),
      HasSubstr("neither candidates, negatives nor auc"));
}

TEST(SplitColdItems, NeedsItemsOnBothSides) {
  const Interactions all = two_tastes();
  for (const double share : {0.01, 0.99}) {
    EXPECT_THAT(
        error_of(ErrorKind::kInvalidArgument,
                 [&] { (void)split(all, {.method = SplitMethod::kColdItems, .test = share}); }),
        HasSubstr("part empty"));
  }
}

}  // namespace
}  // namespace likewise::test
