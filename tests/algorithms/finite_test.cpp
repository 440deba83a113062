// SPDX-License-Identifier: Apache-2.0
/// Numbers that do not fit: what is too large is named, with user and item where there are such.
#include "algorithms/finite.h"

#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/bias/bias.h"
#include "likewise/recommender.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

using testing::AllOf;
using testing::HasSubstr;

constexpr float kHuge = std::numeric_limits<float>::max();

/// Ann, bob and cat rated x, y and z, cat not z; one value is what a test wants.
[[nodiscard]] CsrMatrix ratings(float value) {
  const std::vector<Entry> entries{{0, 0, 1.0F},  {0, 1, 2.0F}, {0, 2, 4.0F}, {1, 0, 2.0F},
                                   {1, 1, value}, {1, 2, 1.0F}, {2, 0, 3.0F}, {2, 1, 1.0F}};
  return make_csr(3, 3, entries);
}

[[nodiscard]] std::shared_ptr<Model> knn_model(Side side, Prediction prediction) {
  auto model = std::make_shared<Model>();
  model->users = IdMap::from_text(std::vector<std::string>{"ann", "bob", "cat"});
  model->items = IdMap::from_text(std::vector<std::string>{"x", "y", "z"});
  model->history = ratings(3.0F);
  KnnParams params = KnnParams::defaults(prediction == Prediction::kSum ? Feedback::kImplicit
                                                                        : Feedback::kExplicit);
  params.side = side;
  params.similarity = Similarity::kCosine;
  params.prediction = prediction;
  params.clip = false;
  params.keep_negative = true;
  model->params = params;
  model->learned = train_knn(model->history.view(), params, open_device("cpu"));
  return model;
}

TEST(TooLarge, ValuesAreNamedBeforeTraining) {
  const auto device = open_device("cpu");
  const auto als_error = [&](const AlsParams& params, float value) {
    return test::error_of(ErrorKind::kBadData,
                          [&] { (void)train_als(ratings(value).view(), params, device); });
  };
  AlsParams params = AlsParams::defaults(Feedback::kExplicit);
  EXPECT_THAT(als_error(params, -2e9F), AllOf(HasSubstr("-2000000000 of user row 1, item row 1"),
                                              HasSubstr("at most 1e+09")));
  params = {};
  params.alpha = 100.0;
  EXPECT_THAT(als_error(params, 2e10F),
              AllOf(HasSubstr("user row 1, item row 1"), HasSubstr("alpha 100")));
  params.confidence = Confidence::kLog;
  EXPECT_NO_THROW((void)train_als(ratings(kHuge).view(), params, device));
  params.confidence = Confidence::kLinear;
  params.unobserved_weight = 0.1;
  EXPECT_NO_THROW((void)train_als(ratings(kHuge).view(), params, device));

  KnnParams neighbours;
  EXPECT_NO_THROW((void)train_knn(ratings(1e15F).view(), neighbours, device));
  EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                             [&] { (void)train_knn(ratings(2e15F).view(), neighbours, device); }),
              AllOf(HasSubstr("user row 1, item row 1"), HasSubstr("at most 1e+15")));
}

/// Their squares add up: two rows of the largest values have a product that fits.
TEST(TooLarge, ProductsOfTheLargestValuesFit) {
  CsrMatrix m = ratings(3.0F);
  for (float& value : m.values) value = 1e15F;
  KnnParams params;
  params.similarity = Similarity::kDot;
  const KnnLists found = train_knn(m.view(), params, open_device("cpu")).neighbours;
  EXPECT_FLOAT_EQ(found.similarities_of(0)[0], 3e30F);
  params.amplification = 2.0;
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical,
                             [&] { (void)train_knn(m.view(), params, open_device("cpu")); }),
              HasSubstr("not a finite number"));
}

/// The largest that are taken train to the end, on the device with the narrowest numbers.
TEST(TooLarge, WhatIsTakenTrains) {
  const auto device = open_device("cpu");
  for (const AlsSolverKind solver :
       {AlsSolverKind::kAuto, AlsSolverKind::kCholesky, AlsSolverKind::kCg}) {
    AlsParams params = AlsParams::defaults(Feedback::kExplicit);
    params.factors = 2;
    params.solver = solver;
    EXPECT_NO_THROW((void)train_als(ratings(1e9F).view(), params, device));
    params = {};
    params.factors = 2;
    params.solver = solver;
    params.alpha = 6e11;
    params.confidence = Confidence::kLog;
    params.regularization = 1e5;  // or float32 has no exact solution
    EXPECT_NO_THROW((void)train_als(ratings(2.0F).view(), params, device));
  }
}

/// Models whose numbers nobody has checked.
TEST(TooLarge, ScoresNameUserAndItem) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (const Prediction prediction : {Prediction::kSum, Prediction::kCentred}) {
      const auto model = knn_model(side, prediction);
      // Ann's value of x is farther from its row's mean than a float32 can say, both ways.
      model->history.values[0] = kHuge;
      for (const Offset at : {1, 2, 3, 6}) model->history.values[at] = -kHuge;
      for (float& s : test::lists_of(*model).similarities) s = kHuge;
      const Recommender recommender(model, open_device("cpu"));
      const std::vector<Index> all{0, 1, 2};
      const auto named = AllOf(testing::ContainsRegex("user '(ann|bob|cat)'"),
                               testing::ContainsRegex("item '(x|y|z)'"), HasSubstr("too large"));
      const auto error = [&](const auto& ask) {
        return test::error_of(ErrorKind::kNumerical, ask);
      };
      EXPECT_THAT(error([&] { (void)recommender.recommend(all, {.n = 3, .include_seen = true}); }),
                  named);
      if (prediction == Prediction::kSum) {
        EXPECT_THAT(error([&] { (void)recommender.predict_missing([](auto&&...) {}); }), named);
      }
      std::vector<Index> users;
      std::vector<Index> items;
      for (const Index u : all) {
        for (const Index i : all) users.push_back(u), items.push_back(i);
      }
      EXPECT_THAT(error([&] { (void)recommender.predict(users, items); }), named);
    }
  }
}

TEST(TooLarge, FactorsOfAModelAreRefused) {
  Model model;
  AlsParams params;
  params.factors = 2;
  model.params = params;
  model.users = IdMap::from_text(std::vector<std::string>{"ann"});
  model.items = IdMap::from_text(std::vector<std::string>{"x"});
  model.history = make_csr(1, 1, {});
  test::factors_of(model) = {Matrix(1, 2), Matrix(1, 2), {}, {}, 0.0F};
  EXPECT_NO_THROW(model.validate());
  test::factors_of(model).items.row(0)[1] = -kHuge;
  EXPECT_THAT(
      test::error_of(ErrorKind::kBadData, [&] { model.validate(); }),
      AllOf(HasSubstr("item_factors: row 0 (id x)"), HasSubstr("-3.4"), HasSubstr("1e+15")));
  test::factors_of(model).items.row(0)[1] = 1e15F;
  EXPECT_NO_THROW(model.validate());
}

TEST(TooLarge, BaselinesThatDivergeAreNoticed) {
  BiasParams params;
  params.baseline_method = BiasMethod::kSgd;
  const CsrMatrix m = test::random_csr(30, 20, 8.0);
  EXPECT_NO_THROW((void)train_biases(m.view(), params));
  for (const double rate : {3.0, 1e15}) {
    params.baseline_learning_rate = rate;
    EXPECT_THAT(
        test::error_of(ErrorKind::kNumerical, [&] { (void)train_biases(m.view(), params); }),
        AllOf(HasSubstr("diverge"), HasSubstr("smaller baseline_learning_rate")));
  }
}

}  // namespace
}  // namespace likewise
