// SPDX-License-Identifier: Apache-2.0
/// A request becomes a plan: what is decided, and where each value is from.
#include <algorithm>
#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "algorithms/parameters/rules.h"
#include "algorithms/sgd/setup.h"
#include "likewise/evaluation.h"
#include "likewise/recommender.h"
#include "likewise/split.h"
#include "likewise/synthetic.h"
#include "likewise/tune.h"
#include "likewise/update.h"
#include "tests/csr_entries.h"
#include "tests/data/text/read_support.h"
#include "tests/errors.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise {
namespace {

using test::error_of;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;
using testing::UnorderedElementsAre;

const Interactions& films() {
  static const Interactions data = generate(parse_shape("300x80x6000"), 1);
  return data;
}

/// Thousands of equally popular items, where the data ask for more factors.
const Interactions& shops() {
  static const Interactions data = [] {
    constexpr Index kUsers = 4000;
    constexpr Index kItems = 4000;
    constexpr Index kEach = 5;
    Interactions all;
    all.users = IdMap::range(kUsers);
    all.items = IdMap::range(kItems);
    std::vector<test::Entry> entries;
    for (Index user = 0; user < kUsers; ++user) {
      for (Index k = 0; k < kEach; ++k) entries.push_back({user, (user + k * k) % kItems, 1.0F});
    }
    all.by_user = test::make_csr(kUsers, kItems, entries);
    return all;
  }();
  return data;
}

[[nodiscard]] std::vector<std::pair<std::string, Origin>> origins_of(const TrainingPlan& plan) {
  std::vector<std::pair<std::string, Origin>> all;
  for (const ParameterOrigin& one : plan.origins) all.emplace_back(one.name, one.origin);
  return all;
}

[[nodiscard]] const AlsParams& als_of(const TrainingPlan& plan) {
  return std::get<AlsParams>(plan.params);
}

TEST(Prepare, TheDataDecideWhatNobodyAskedFor) {
  const TrainingPlan plan = prepare({}, films());
  EXPECT_EQ(plan.params,
            with_data_defaults(films().by_user.view(), default_params("als", Feedback::kImplicit)));
  EXPECT_THAT(origins_of(plan), UnorderedElementsAre(Pair("factors", Origin::kData),
                                                     Pair("regularization", Origin::kData),
                                                     Pair("regularization_exponent", Origin::kData),
                                                     Pair("unobserved_weight", Origin::kData)));
  EXPECT_EQ(als_of(plan).factors, 64) << "as the default, and from the data all the same";
  EXPECT_EQ(als_of(prepare({}, shops())).factors, 512);
}

TEST(Prepare, WhatIsAskedForStays) {
  const TrainingPlan plan =
      prepare({.parameters = {{"factors", "64"}, {"seed", "7"}}, .device = "cpu"}, shops());
  EXPECT_EQ(als_of(plan).factors, 64);
  EXPECT_THAT(origins_of(plan), testing::IsSupersetOf({Pair("factors", Origin::kChosen),
                                                       Pair("seed", Origin::kChosen)}));
  EXPECT_EQ(plan.device.device.name(), "cpu");
  // A default of the front door's is nobody's choice, and may be idle.
  const TrainingPlan idle = prepare({.parameters = {{"cg_steps", "3", false}}}, films());
  EXPECT_EQ(idle.params, prepare({}, films()).params);
}

TEST(Prepare, ParametersOfAStructAreChosenWhereTheyAreNotTheDefaults) {
  AlsParams params{.factors = 32};
  params.alpha = 4.0;
  const TrainingPlan plan = prepare(request_of(params), shops());
  EXPECT_EQ(als_of(plan).factors, 32);
  EXPECT_EQ(als_of(plan).alpha, 4.0);
  EXPECT_FALSE(als_of(plan).unobserved_weight) << "alpha asks for Hu's form";
  // Of ratings, too, what equals the defaults of a struct stays open to the data.
  AlsParams ratings = AlsParams::defaults(Feedback::kExplicit);
  const TrainingPlan open = prepare(request_of(ratings), films());
  EXPECT_EQ(open.params, with_data_defaults(films().by_user.view(), ratings));
  EXPECT_NE(open.params, TrainingParams(ratings));
  EXPECT_THAT(
      origins_of(open),
      UnorderedElementsAre(Pair("feedback", Origin::kChosen), Pair("regularization", Origin::kData),
                           Pair("regularization_exponent", Origin::kData)));
  ratings.regularization = 0.3;
  const TrainingPlan chosen = prepare(request_of(ratings), films());
  EXPECT_EQ(chosen.params, TrainingParams(ratings)) << "nu of a chosen lambda is 1";
  EXPECT_THAT(origins_of(chosen), UnorderedElementsAre(Pair("feedback", Origin::kChosen),
                                                       Pair("regularization", Origin::kChosen)));
}

TEST(Prepare, FirstRowsWithoutBiasesAreAsLongAsTheRatingsWant) {
  AlsParams ratings = AlsParams::defaults(Feedback::kExplicit);
  ratings.biases = false;
  ratings.regularization = 0.3;
  double sum = 0.0;
  const CsrView films_by_user = films().by_user.view();
  for (Offset e = 0; e < films_by_user.nnz(); ++e) sum += std::abs(films_by_user.values[e]);
  const double mean = sum / static_cast<double>(films_by_user.nnz());
  const TrainingPlan plan = prepare(request_of(ratings), films());
  EXPECT_NEAR(als_of(plan).init_stddev, std::sqrt(mean), 0.01);
  EXPECT_THAT(origins_of(plan), Contains(Pair("init_stddev", Origin::kData)));
  ratings.nonnegative = true;
  EXPECT_NEAR(als_of(prepare(request_of(ratings), films())).init_stddev, std::sqrt(1.5708 * mean),
              0.01);
  ratings.init_stddev = 0.2;
  EXPECT_EQ(als_of(prepare(request_of(ratings), films())).init_stddev, 0.2);
}

TEST(Prepare, AutoChoosesTheAlgorithmAndSaysWhy) {
  const TrainingPlan plan = prepare({.algorithm = "auto"}, films());
  EXPECT_EQ(plan.params, prepare({}, films()).params);
  EXPECT_THAT(plan.algorithm_reason, HasSubstr("a user has 20 interactions"));
  EXPECT_EQ(train(plan, films()).provenance.choice, plan.algorithm_reason);
  const std::string why = error_of(ErrorKind::kInvalidArgument, [] {
    (void)outline({.algorithm = "auto", .parameters = {{"factors", "8"}}});
  });
  EXPECT_THAT(
      why,
      HasSubstr("factors is for algorithm als or sgd or bpr or spectral: beside algorithm auto"));
}

TEST(Prepare, TheMetricOfTheValidationIsNamed) {
  TrainingRequest request{.validation = ValidationRequest{}};
  EXPECT_EQ(prepare(request, films()).validation->metric, "ndcg@10");
  request.parameters = {{"feedback", "explicit"}};
  EXPECT_EQ(prepare(request, films()).validation->metric, "rmse");
  request.validation->target = 0.9;
  TrainingRun run;
  run.validation = &films();
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument,
                       [&] { (void)train(prepare(request, films()), films(), run); }),
              HasSubstr("target 0.9 needs a metric"));
  const TrainingPlan plan = prepare({}, films());
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)train(plan, films(), run); }),
              HasSubstr("says nothing of validation data"));
}

TEST(Prepare, AResumedTrainingKeepsWhatItWasBegunWith) {
  const Model model =
      train(prepare({.parameters = {{"factors", "5"}, {"iterations", "2"}}}, films()), films());
  TrainingRequest request{.parameters = {{"iterations", "4"}}, .resume = &model};
  const TrainingPlan plan = prepare(request, films());
  EXPECT_EQ(als_of(plan).factors, 5);
  EXPECT_THAT(origins_of(plan), testing::IsSupersetOf({Pair("factors", Origin::kResumed),
                                                       Pair("iterations", Origin::kChosen)}));
  EXPECT_EQ(train(plan, films()).iterations.size(), 4U);
  const Model usual = train(prepare({.parameters = {{"factors", "5"}}}, films()), films());
  request = {.parameters = {{"iterations", "16"}}, .resume = &usual};
  EXPECT_THAT(train(prepare(request, films()), films()).provenance.origins,
              testing::IsSupersetOf({ParameterOrigin{"factors", Origin::kChosen},
                                     ParameterOrigin{"iterations", Origin::kChosen},
                                     ParameterOrigin{"regularization", Origin::kData}}));
  request.algorithm = "sgd";
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)outline(request); }),
              HasSubstr("the model to resume is of als"));
}

TEST(Prepare, WrongRequestsAreRefusedBeforeTheData) {
  const auto refused = [](const TrainingRequest& request) {
    return error_of(ErrorKind::kInvalidArgument, [&] { (void)outline(request); });
  };
  EXPECT_THAT(refused({.parameters = {{"factors", "none at all"}}}), HasSubstr("factors"));
  EXPECT_THAT(refused({.parameters = {{"hops", "3"}}}), HasSubstr("there is no parameter hops"));
  EXPECT_THAT(refused({.parameters = {{"neighbours", "3"}}}),
              HasSubstr("neighbours is for algorithm item-knn or user-knn, not als"));
  EXPECT_THAT(refused({.parameters = {{"cg_steps", "4"}}}),
              HasSubstr("cg_steps would do nothing here: it needs solver cg"));
  EXPECT_THAT(refused({.device = "abacus"}), HasSubstr("abacus"));
}

TEST(Prepare, ValuesOfAHalfLifeAreOfImplicitFeedback) {
  const std::string text =
      "user,item,rating,time\n1,1,5,0\n1,2,3,86400\n2,1,4,172800\n3,3,2,259200\n";
  const Interactions faded = test::read_text(text, {.half_life = 86400.0, .min_user_count = 1});
  const Interactions ratings = test::read_text(text);
  ASSERT_TRUE(faded.faded);
  ASSERT_FALSE(ratings.faded);
  EXPECT_NO_THROW((void)prepare({.algorithm = "ease"}, faded));
  const auto refusal = [](const auto& work) { return error_of(ErrorKind::kInvalidArgument, work); };
  const std::string why = "half_life is for implicit feedback: an old rating is not a lower one";
  const TrainingRequest bias{.algorithm = "bias"};
  EXPECT_THAT(refusal([&] { (void)prepare(bias, faded); }), HasSubstr(why));
  const Interactions part = std::move(split(faded, SplitOptions{}).front().train);
  EXPECT_THAT(refusal([&] { (void)prepare(bias, part); }), HasSubstr(why));
  TuneOptions tuning;
  tuning.feedback = Feedback::kExplicit;
  EXPECT_THAT(refusal([&] { (void)tune(faded, tuning); }), HasSubstr(why));
  TuneRun run;
  run.validation = &faded;
  EXPECT_THAT(refusal([&] { (void)tune(ratings, tuning, run); }), HasSubstr(why));

  const auto model = std::make_shared<Model>(train(prepare(bias, ratings), ratings));
  EXPECT_THAT(refusal([&] { (void)update_model(*model, faded, {}, open_device("cpu")); }),
              HasSubstr(why));
  const TestSet test = make_test_set(*model, faded);
  EXPECT_THAT(refusal([&] {
                (void)evaluate(Recommender(model, open_device("cpu")), test, {.metrics = {"rmse"}});
              }),
              HasSubstr("half_life has made those of the test set lower: read it without"));
}

/// Old events count less only where it is read how much they count.
TEST(Prepare, AHalfLifeNeedsATrainingThatReadsValues) {
  const std::string text =
      "user,item,count,time\n1,1,5,0\n1,2,3,86400\n2,1,4,172800\n3,3,2,259200\n";
  const Interactions faded = test::read_text(text, {.half_life = 86400.0, .min_user_count = 1});
  const auto refusal = [](const auto& work) { return error_of(ErrorKind::kInvalidArgument, work); };
  for (const char* algorithm : {"", "als", "bpr", "popular"}) {
    EXPECT_THAT(
        spelled(refusal([&] { (void)prepare({.algorithm = algorithm}, faded); })),
        testing::MatchesRegex("half_life would do nothing here: .* takes all values above 0 "
                              "alike; als with alpha, ease, .*"));
  }
  for (const char* algorithm : {"item-knn", "user-knn", "ease", "spectral"}) {
    EXPECT_TRUE(prepare({.algorithm = algorithm}, faded).notes.empty()) << algorithm;
  }
  for (const AskedParameter& weighs :
       {AskedParameter{"alpha", "1"}, AskedParameter{"confidence", "log"}}) {
    const TrainingRequest hu{.algorithm = "als", .parameters = {weighs}};
    EXPECT_TRUE(prepare(hu, faded).notes.empty());
  }
  const Interactions plain = test::read_text(text);
  const auto model =
      std::make_shared<Model>(train(prepare({.algorithm = "popular"}, plain), plain));
  EXPECT_THAT(refusal([&] { (void)update_model(*model, faded, {}, open_device("cpu")); }),
              HasSubstr("would do nothing here: popular takes all values above 0 alike"));
  // What auto chooses was not asked for: it is told.
  const TrainingPlan chosen = prepare({.algorithm = std::string(kAutoAlgorithm)}, faded);
  EXPECT_EQ(algorithm_name(chosen.params), "als");
  EXPECT_THAT(chosen.notes, ElementsAre(HasSubstr("values differ, but als takes all")));
}

TEST(Prepare, ValuesThatNothingLooksAtAreTold) {
  const Interactions counts = test::read_text("1,1,5\n1,2,3\n2,1,4\n3,3,2\n");
  const Interactions alike = test::read_text("1,1,5\n1,2,5\n2,1,-2\n3,3,5\n");
  for (const char* algorithm : {"als", "bpr", "popular"}) {
    const TrainingPlan plan = prepare({.algorithm = algorithm}, counts);
    EXPECT_THAT(plan.remarks, ElementsAre(HasSubstr("values differ, but ")));
    EXPECT_THAT(describe(plan), HasSubstr("note: values differ, but "));
    EXPECT_TRUE(plan.notes.empty());
    EXPECT_TRUE(prepare({.algorithm = algorithm}, alike).remarks.empty());
  }
  EXPECT_TRUE(prepare({.algorithm = "ease"}, counts).remarks.empty());
}

/// Also those that are absent, which a training takes a value for.
TEST(Prepare, APlanHasTheValuesThatAreTaken) {
  const Interactions ratings = generate(parse_shape("300x80x6000:explicit"), 1);
  const auto plan = [&](const char* algorithm, std::vector<AskedParameter> asked = {}) {
    if (std::string(algorithm).ends_with("knn")) asked.push_back({"feedback", "explicit"});
    return prepare({.algorithm = algorithm, .parameters = std::move(asked)}, ratings).params;
  };
  const auto text = [](const TrainingParams& params, const char* name) {
    return parameter_text(params, name);
  };
  for (const char* algorithm : {"item-knn", "user-knn"}) {
    EXPECT_EQ(text(plan(algorithm), "shrinkage"), "100");
    EXPECT_EQ(text(plan(algorithm), "baseline_epochs"), "10");
    EXPECT_EQ(text(plan(algorithm, {{"baseline_method", "sgd"}}), "baseline_epochs"), "20");
    EXPECT_EQ(text(plan(algorithm, {{"similarity", "msd"}}), "shrinkage"), "0");
    EXPECT_EQ(text(plan(algorithm, {{"shrinkage", "7"}}), "shrinkage"), "7");
  }
  EXPECT_EQ(text(plan("bias"), "baseline_epochs"), "10");
  EXPECT_EQ(text(plan("sgd"), "bias_regularization"), "0.9");
  EXPECT_EQ(text(plan("sgd", {{"regularization", "0.5"}}), "bias_regularization"), "0.5");
}

/// Ratings times c have factors times sqrt(c), and predictions times c.
TEST(Prepare, GradientDescentSuitsAnyScaleOfRatings) {
  const Interactions ratings = generate(parse_shape("300x80x6000:explicit"), 1);
  const TrainingRequest request{
      .algorithm = "sgd", .parameters = {{"iterations", "10"}, {"factors", "8"}}, .device = "cpu"};
  const TrainingPlan plan = prepare(request, ratings);
  const auto& sgd = std::get<SgdParams>(plan.params);
  EXPECT_NEAR(sgd.regularization, 0.8 * value_spread(ratings.by_user.view(), sgd).spread, 1e-3);
  const Model usual = train(plan, ratings);
  for (const float scale : {0.01F, 100.0F}) {
    Interactions scaled = generate(parse_shape("300x80x6000:explicit"), 1);
    for (float& value : scaled.by_user.values) value *= scale;
    const Model model = train(prepare(request, scaled), scaled);
    const Factors& a = *usual.factors();
    const Factors& b = *model.factors();
    double most = 0.0;
    double off = 0.0;
    for (Offset i = 0; i < a.item_bias.size(); ++i) {
      EXPECT_NEAR(b.item_bias[i], scale * a.item_bias[i], 1e-3F * scale);
    }
    for (Index row = 0; row < a.users.rows(); ++row) {
      for (Index j = 0; j < a.users.cols(); ++j) {
        const double x = double{a.users.row(row)[j]};
        most = std::max(most, std::abs(x));
        off = std::max(off, std::abs(double{b.users.row(row)[j]} / std::sqrt(double{scale}) - x));
      }
    }
    EXPECT_LT(off, 2e-3 * most) << scale;
  }
  const TrainingRequest logistic{.algorithm = "sgd", .parameters = {{"loss", "logistic"}}};
  Interactions likes = generate(parse_shape("300x80x6000:explicit"), 1);
  for (float& value : likes.by_user.values) value -= 3.0F;
  EXPECT_EQ(parameter_text(prepare(logistic, likes).params, "regularization"), "0.9");
}

TEST(Prepare, NothingIsLearnedFromNothing) {
  Interactions none;
  none.users = IdMap::range(2);
  none.items = IdMap::range(3);
  none.by_user = test::make_csr(2, 3, {});
  for (const std::string_view algorithm : algorithm_names()) {
    EXPECT_EQ(error_of(ErrorKind::kBadData,
                       [&] { (void)prepare({.algorithm = std::string(algorithm)}, none); }),
              "there are no interactions: nothing to learn from")
        << algorithm;
  }
}

TEST(Prepare, TheOriginsAreSavedWithTheModel) {
  const Model model =
      train(prepare({.parameters = {{"factors", "3"}, {"iterations", "1"}}}, films()), films());
  EXPECT_EQ(model.provenance.origins.front(), (ParameterOrigin{"factors", Origin::kChosen}));
}

TEST(Prepare, APlanCanBeRead) {
  const std::string text = describe(prepare({.parameters = {{"factors", "8"}}}, films()));
  for (const char* line : {"algorithm: als\n", "device: ", "  factors 8 (chosen)\n",
                           "  iterations 15 (default)\n", "(from the data)", "memory: "}) {
    EXPECT_THAT(text, HasSubstr(line));
  }
}

TEST(Spelled, EachFrontDoorWritesParametersItsOwnWay) {
  const Error error(ErrorKind::kInvalidArgument,
                    "needs " + mentions("{solver cg} or {cg_steps}") + " {");
  EXPECT_STREQ(error.what(), "needs solver cg or cg_steps {");
  const auto dashed = [](std::string_view name, std::string_view value) {
    return "<" + std::string(name) + "|" + std::string(value) + ">";
  };
  EXPECT_EQ(error.message(dashed), "needs <solver|cg> or <cg_steps|> {");
}

TEST(Train, StartsFromGivenFactors) {
  TrainingRequest request;
  request.parameters = {{"factors", "4"}, {"iterations", "2"}, {"alpha", "1"}};
  request.device = "cpu";
  const TrainingPlan plan = prepare(request, films());
  TrainingPlan once = plan;
  std::get<AlsParams>(once.params).iterations = 1;
  const Model first = train(once, films());
  IterationRun from;
  from.start = first.factors();
  const IterationResult direct =
      train_als(films().by_user.view(), als_of(plan), plan.device.device, from);
  TrainingRun run;
  run.start = first.factors();
  const Model started = train(plan, films(), run);
  EXPECT_TRUE(
      std::ranges::equal(started.factors()->users.row_span(7), direct.factors.users.row_span(7)));
  const Model drawn = train(plan, films());
  EXPECT_FALSE(
      std::ranges::equal(started.factors()->users.row_span(7), drawn.factors()->users.row_span(7)));

  const TrainingPlan counted = prepare({.algorithm = "popular"}, films());
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)train(counted, films(), run); }),
              HasSubstr("a start from given factors needs an algorithm that iterates"));
  TrainingPlan resumed = plan;
  resumed.resume = &first;
  EXPECT_THAT(error_of(ErrorKind::kInvalidArgument, [&] { (void)train(resumed, films(), run); }),
              HasSubstr("starts from its model alone"));
}

}  // namespace
}  // namespace likewise
