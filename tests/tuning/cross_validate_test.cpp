// SPDX-License-Identifier: Apache-2.0
#include <atomic>
#include <cmath>
#include <memory>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/cross_validation.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/recommender.h"
#include "likewise/synthetic.h"
#include "tests/errors.h"

namespace likewise {
namespace {

using test::error_of;
using testing::HasSubstr;

const Interactions& folded_data() {
  static const Interactions made = generate(parse_shape("100x40x1500"), 5);
  return made;
}

CrossValidationRequest request(int folds) {
  CrossValidationRequest asked{.training = {.algorithm = "popular", .device = "cpu"}};
  asked.parts.folds = folds;
  return asked;
}

TEST(CrossValidate, AFoldIsATrainingOnItsPart) {
  const CrossValidation found = cross_validate(request(3), folded_data());
  ASSERT_EQ(found.folds.size(), 3U);
  for (int fold = 0; fold < 3; ++fold) {
    const Split parts = split_fold(folded_data(), request(3).parts, fold);
    const auto model = std::make_shared<const Model>(
        train(prepare(request(3).training, parts.train), parts.train));
    const EvaluationReport alone =
        evaluate(Recommender(model, open_device("cpu")), make_test_set(*model, parts.test),
                 EvaluateOptions{.with_history = true});
    EXPECT_EQ(found.folds[static_cast<std::size_t>(fold)].report.metrics, alone.metrics);
    EXPECT_EQ(found.folds[static_cast<std::size_t>(fold)].trained, parts.train.by_user.nnz());
    EXPECT_EQ(found.folds[static_cast<std::size_t>(fold)].tested, parts.test.by_user.nnz());
  }
}

/// Users come one after the other: of the last ones the older part knows nothing.
Interactions users_in_turn() {
  Interactions timed = generate(parse_shape("60x30x900"), 5);
  timed.times = Array<Time>(timed.by_user.nnz());
  for (Index user = 0; user < timed.by_user.rows; ++user) {
    for (Offset at = timed.by_user.offsets[user]; at < timed.by_user.offsets[user + 1]; ++at) {
      timed.times[at] = Time{user * 100 + (at * 7919) % 200};
    }
  }
  return timed;
}

TEST(CrossValidate, ListsAreOfUsersWithAHistory) {
  const Interactions timed = users_in_turn();
  CrossValidationRequest asked{.training = {.algorithm = "item-knn", .device = "cpu"}};
  asked.parts = {.method = SplitMethod::kTime, .test = 0.4, .rolling = 2};
  const CrossValidation found = cross_validate(asked, timed);
  const std::vector<Split> parts = split(timed, asked.parts);
  for (std::size_t fold = 0; fold < 2; ++fold) {
    Index known = 0;
    Index unknown = 0;
    for (Index user = 0; user < timed.by_user.rows; ++user) {
      if (parts[fold].test.by_user.view().row_size(user) == 0) continue;
      ++(parts[fold].train.by_user.view().row_size(user) > 0 ? known : unknown);
    }
    EXPECT_GT(unknown, 0);
    EXPECT_EQ(found.folds[fold].report.users_evaluated, known);
    EXPECT_EQ(found.folds[fold].users_not_ranked, unknown);
  }
  // Features of users say something of all of them.
  std::string text = "id,tag\n";
  for (Index user = 0; user < timed.users.size(); ++user) {
    text += timed.users.name(user) + (user % 3 == 0 ? ",one\n" : ",two\n");
  }
  FeatureTables tables;
  tables.users = features_from_text(text, "f.csv", Side::kUsers);
  asked.features = &tables;
  asked.training = {.algorithm = "als", .parameters = {{"factors", "4"}}, .device = "cpu"};
  const CrossValidation all = cross_validate(asked, timed);
  EXPECT_EQ(all.folds[0].users_not_ranked, 0);
  EXPECT_GT(all.folds[0].report.users_evaluated, found.folds[0].report.users_evaluated);
}

TEST(CrossValidate, ClippingIsThatOfEvaluation) {
  CrossValidationRequest asked{
      .training = {
          .algorithm = "als",
          .parameters = {{"feedback", "explicit"}, {"factors", "4"}, {"regularization", "0.001"}},
          .device = "cpu"}};
  asked.parts.folds = 2;
  const auto rmse = [&](std::optional<bool> clip) {
    asked.clip = clip;
    return cross_validate(asked, folded_data()).metrics.at("rmse").mean;
  };
  EXPECT_EQ(rmse(true), rmse({}));
  EXPECT_GT(rmse(false), rmse(true));
}

TEST(CrossValidate, TheModelOfAFoldLearnsFeatures) {
  std::string text = "id,tag\n";
  for (Index item = 0; item < folded_data().items.size(); ++item) {
    text += folded_data().items.name(item) + (item % 3 == 0 ? ",one\n" : ",two\n");
  }
  FeatureTables tables;
  tables.items = features_from_text(text, "f.csv", Side::kItems);
  // Three folds of few interactions: each leaves items that its training part has not.
  const Interactions rare = generate(parse_shape("30x40x90"), 5);
  CrossValidationRequest asked = request(3);
  asked.training = {.algorithm = "als", .parameters = {{"factors", "4"}}, .device = "cpu"};
  const CrossValidation plain = cross_validate(asked, rare);
  asked.features = &tables;
  const CrossValidation found = cross_validate(asked, rare);
  const Split parts = split_fold(rare, asked.parts, 0);
  const auto model =
      std::make_shared<Model>(train(prepare(asked.training, parts.train), parts.train));
  (void)add_features(*model, tables);
  const EvaluationReport alone =
      evaluate(Recommender(model, open_device("cpu")), make_test_set(*model, parts.test),
               EvaluateOptions{.with_history = true});
  EXPECT_EQ(found.folds[0].report.metrics, alone.metrics);
  EXPECT_NE(found.folds[0].report.metrics, plain.folds[0].report.metrics);
  asked.training = request(3).training;
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)cross_validate(asked, rare); }),
              HasSubstr("popular has none"));
}

TEST(CrossValidate, MeansAndDeviationsAreOfAllFolds) {
  const CrossValidation found = cross_validate(request(4), folded_data());
  for (const auto& [name, over] : found.metrics) {
    double sum = 0.0;
    double squares = 0.0;
    for (const FoldResult& fold : found.folds) sum += fold.report.metrics.at(name);
    for (const FoldResult& fold : found.folds) {
      squares += std::pow(fold.report.metrics.at(name) - sum / 4, 2);
    }
    EXPECT_NEAR(over.mean, sum / 4, 1e-12) << name;
    EXPECT_NEAR(over.deviation, std::sqrt(squares / 3), 1e-12) << name;
  }
  EXPECT_TRUE(found.metrics.contains("ndcg@10"));
}

TEST(CrossValidate, TellsFoldsAsTheyEndAndStops) {
  std::atomic<bool> cancel = false;
  RunControl control;
  control.cancel = &cancel;
  int told = 0;
  (void)error_of(ErrorKind::kCancelled, [&] {
    (void)cross_validate(request(5), folded_data(), control, [&](const FoldResult&, int folds) {
      EXPECT_EQ(folds, 5);
      cancel = ++told == 2;
    });
  });
  EXPECT_EQ(told, 2);
}

TEST(CrossValidate, RefusesWhatHasNoFold) {
  const auto refused = [](const CrossValidationRequest& asked) {
    return error_of(ErrorKind::kInvalidArgument,
                    [&] { (void)cross_validate(asked, folded_data()); });
  };
  CrossValidationRequest asked = request(5);
  asked.parts.method = SplitMethod::kRandom;
  EXPECT_THAT(refused(asked), HasSubstr("kfold, or time with rolling"));
  asked.parts.method = SplitMethod::kTime;
  EXPECT_THAT(refused(asked), HasSubstr("needs rolling"));
  asked.parts.rolling = 2;
  EXPECT_THAT(refused(asked), HasSubstr("needs times"));
  asked = request(5);
  asked.training.validation.emplace();
  EXPECT_THAT(refused(asked), HasSubstr("not validated"));
  asked = request(5);
  asked.evaluation.per_user = true;
  EXPECT_THAT(refused(asked), HasSubstr("own values"));
  const CsrView none;
  asked.evaluation = {};
  asked.evaluation.candidates = &none;
  EXPECT_THAT(refused(asked), HasSubstr("candidates"));
  const Model model;
  asked.evaluation = {};
  asked.training.resume = &model;
  EXPECT_THAT(refused(asked), HasSubstr("not resumed"));
  asked.training.resume = nullptr;
  asked.evaluation.metrics = {"rmse"};
  EXPECT_THAT(refused(asked), HasSubstr("predicts none"));
}

}  // namespace
}  // namespace likewise
