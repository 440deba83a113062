// SPDX-License-Identifier: Apache-2.0
#include <array>
#include <atomic>
#include <limits>
#include <memory>
#include <optional>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/iteration_run.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/recommender.h"
#include "model/checkpoint.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/model/model_support.h"
#include "training/train.h"

namespace likewise {
namespace {

using test::Ids;
using test::make_model;

TEST(Checkpoint, HoldsTheNewestFactorsAndReports) {
  const test::TemporaryFolder folder;
  Model model = make_model({6, 8, 7, Ids::kText, true});
  const Factors later = test::factors_of(make_model({6, 8, 7, Ids::kRange, true})).clone();
  test::factors_of(model) = {};  // the trainer still has them
  const std::array<Iteration, 3> reports{Iteration{1, 3.0 / 7.0, 0.3, 0.1},
                                         {2, 2.0 / 7.0, 0.2, 0.2},
                                         {3, 1.0 / 7.0, 0.1, std::nullopt}};
  const auto fetch = [&]() -> const Factors& { return later; };
  save_checkpoint(model, {reports, 9, "", fetch, 3, nullptr}, folder / "checkpoint");

  const Model back = load_model(folder / "checkpoint");
  test::expect_same_factors(later, test::factors_of(back));
  EXPECT_EQ(back.best_iteration, 3);
  EXPECT_FALSE(back.last);
  IterationRun run;
  run.history = {{9, 9.0, 9.0, 9.0}};
  resume_from(back, run);
  EXPECT_EQ(run.start, &test::factors_of(back));
  EXPECT_EQ(run.completed_iterations, 3);
  test::expect_same_iterations(run.history, reports);
}

TEST(Checkpoint, HoldsTheBestFactorsBesideTheNewest) {
  const test::TemporaryFolder folder;
  Model model = make_model({6, 8, 7, Ids::kText, true});
  const Factors best = test::factors_of(model).clone();
  const Factors newest = test::factors_of(make_model({6, 8, 7, Ids::kRange, true})).clone();
  const std::array<Iteration, 2> reports{Iteration{1, 3.0, 0.3, 0.5}, {2, 2.0, 0.2, 0.25}};
  const auto fetch = [&]() -> const Factors& { return newest; };
  save_checkpoint(model, {reports, 9, "ndcg@10", fetch, 1, &best}, folder / "checkpoint");

  const Model back = load_model(folder / "checkpoint");
  EXPECT_EQ(back.best_iteration, 1);
  test::expect_same_factors(best, test::factors_of(back));
  ASSERT_TRUE(back.last);
  test::expect_same_factors(newest, *back.last);
  IterationRun run;
  resume_from(back, run);
  EXPECT_EQ(run.start, &*back.last);
  EXPECT_EQ(run.completed_iterations, 2);
  EXPECT_EQ(run.best, &test::factors_of(back));
  EXPECT_EQ(run.best_iteration, 1);
}

TEST(Resume, GoesOnAfterTheBestIterationOnly) {
  Model model = make_model({});
  model.best_iteration = 1;  // the factors are those of iteration 1: 2 has to be done again
  IterationRun run;
  resume_from(model, run);
  EXPECT_EQ(run.completed_iterations, 1);
  ASSERT_EQ(run.history.size(), 1U);
  EXPECT_EQ(run.history[0].iteration, 1);
}

/// Training data and a part to validate on, whose ids are those of the training data.
struct Parts {
  Interactions train;
  Interactions validation;
};
Parts make_parts() {
  Parts parts;
  for (Interactions* data : {&parts.train, &parts.validation}) {
    data->users = IdMap::range(40);
    data->items = IdMap::range(30);
    data->by_user = test::random_csr(40, 30, 6.0, data == &parts.train ? 1 : 2);
  }
  return parts;
}

void expect_same_training(const Model& resumed, const Model& whole) {
  test::expect_same_factors(test::factors_of(resumed), test::factors_of(whole));
  EXPECT_EQ(resumed.best_iteration, whole.best_iteration);
  EXPECT_EQ(resumed.stop_reason, whole.stop_reason);
  EXPECT_EQ(resumed.validation_metric, whole.validation_metric);
  ASSERT_EQ(resumed.iterations.size(), whole.iterations.size());
  for (std::size_t i = 0; i < whole.iterations.size(); ++i) {
    EXPECT_EQ(resumed.iterations[i].iteration, whole.iterations[i].iteration) << i;
    EXPECT_EQ(resumed.iterations[i].objective, whole.iterations[i].objective) << i;
    EXPECT_EQ(resumed.iterations[i].validation, whole.iterations[i].validation) << i;
  }
}

/// A training stopped after every one of its iterations, and gone on with from the checkpoint of
/// that moment, ends as the one that nobody stopped. So does the finished model, at once.
void expect_same_after_any_break(AlsParams params, const char* metric,
                                 std::optional<double> target = {}) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  ResolvedRun run;
  run.target = target;
  if (metric != nullptr) {
    run.validation = &parts.validation;
    run.validation_metric = metric;
  }
  const Model whole = train(parts.train, params, device, run);
  const int done = whole.iterations.back().iteration;
  ASSERT_TRUE(metric == nullptr || params.tolerance > 0 || target || whole.best_iteration < done)
      << "the case is about an early best";
  for (int stop = 1; stop <= done; ++stop) {
    SCOPED_TRACE(fmt::format("stopped after {} of {}, best {}", stop, done, whole.best_iteration));
    const test::TemporaryFolder folder;
    std::atomic<bool> cancel{false};
    ResolvedRun first = run;
    first.control.cancel = &cancel;
    first.checkpoint.path = folder / "checkpoint";
    int iteration = 0;
    first.on_iteration = [&](const TrainingState& state) {
      iteration = state.iterations.back().iteration;
      cancel = iteration == stop;
    };
    if (stop < done) {
      test::error_of(ErrorKind::kCancelled,
                     [&] { (void)train(parts.train, params, device, first); });
      ASSERT_EQ(iteration, stop);
    } else {
      (void)train(parts.train, params, device, first);
    }
    const Model checkpoint = load_model(folder / "checkpoint");
    ResolvedRun second = run;
    second.resume = &checkpoint;
    int more = 0;
    second.on_iteration = [&](const TrainingState&) { ++more; };
    expect_same_training(train(parts.train, params, device, second), whole);
    EXPECT_EQ(more, done - stop) << "nothing is done twice";
  }
  ResolvedRun again = run;
  again.resume = &whole;
  again.on_iteration = [](const TrainingState&) { ADD_FAILURE() << "it was over"; };
  expect_same_training(train(parts.train, params, device, again), whole);
}

/// A training that is asked to stop during each of its iterations hands back a model, which goes
/// through a file and on to the end of the training that nobody stopped.
void expect_same_after_any_stop(const AlsParams& params, const char* metric) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  ResolvedRun run;
  if (metric != nullptr) {
    run.validation = &parts.validation;
    run.validation_metric = metric;
  }
  const Model whole = train(parts.train, params, device, run);
  const int done = whole.iterations.back().iteration;
  for (int asked = 1; asked <= done; ++asked) {
    SCOPED_TRACE(fmt::format("stopped in {} of {}, best {}", asked, done, whole.best_iteration));
    std::atomic<bool> stop{false};
    ResolvedRun first = run;
    first.stop = &stop;
    first.on_iteration = [&](const TrainingState& state) {
      stop = state.iterations.back().iteration == asked;
    };
    const Model part = train(parts.train, params, device, first);
    ASSERT_EQ(part.iterations.size(), static_cast<std::size_t>(asked));
    for (std::size_t i = 0; i < part.iterations.size(); ++i) {
      EXPECT_EQ(part.iterations[i].objective, whole.iterations[i].objective);
      EXPECT_EQ(part.iterations[i].validation, whole.iterations[i].validation);
    }
    if (asked == done) {
      expect_same_training(part, whole);  // over by itself
      continue;
    }
    EXPECT_EQ(part.stop_reason, "stopped");
    AlsParams shorter = params;
    shorter.iterations = asked;
    test::expect_same_factors(test::factors_of(part),
                              test::factors_of(train(parts.train, shorter, device, run)));

    const test::TemporaryFolder folder;
    save_model(part, folder / "part");
    const Model back = load_model(folder / "part");
    EXPECT_EQ(back.stop_reason, "stopped");
    ResolvedRun second = run;
    second.resume = &back;
    expect_same_training(train(parts.train, params, device, second), whole);
    // Asked again before it goes on, it stays where it is.
    second.stop = &stop;
    stop = true;
    const Model same = train(parts.train, params, device, second);
    EXPECT_EQ(same.stop_reason, "stopped");
    EXPECT_EQ(same.best_iteration, part.best_iteration);
    test::expect_same_factors(test::factors_of(same), test::factors_of(part));
  }
}

AlsParams small(Feedback feedback, int factors, int iterations) {
  AlsParams params = AlsParams::defaults(feedback);
  params.factors = factors;
  params.iterations = iterations;
  return params;
}

TEST(Resume, EndsAsWithoutTheBreak) {
  expect_same_after_any_break(small(Feedback::kImplicit, 16, 4), nullptr);
  expect_same_after_any_break(small(Feedback::kImplicit, 7, 4), nullptr);
  expect_same_after_any_break(small(Feedback::kExplicit, 5, 4), nullptr);
}

/// Little regularisation, to be validated on data of chance: an early iteration is the best.
AlsParams overfitting(Feedback feedback, int iterations) {
  AlsParams params = small(feedback, 20, iterations);
  params.regularization = 0.01;
  params.regularization_exponent = 0.0;
  return params;
}

TEST(Resume, KeepsTheBestIterationOfBeforeTheBreak) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    for (const int patience : {0, 3}) {
      AlsParams params = overfitting(feedback, 8);
      params.patience = patience;
      expect_same_after_any_break(params, feedback == Feedback::kExplicit ? "rmse" : "ndcg@5");
    }
  }
}

TEST(Resume, StopsWhereTheToleranceHadStopped) {
  AlsParams params = small(Feedback::kImplicit, 8, 200);
  params.tolerance = 0.02;
  expect_same_after_any_break(params, nullptr);
  expect_same_after_any_break(params, "ndcg@5");
}

/// The best validation of a training, after two iterations or more.
double best_validation(const AlsParams& params, const char* metric) {
  const Parts parts = make_parts();
  ResolvedRun run;
  run.validation = &parts.validation;
  run.validation_metric = metric;
  const Model model = train(parts.train, params, open_device("cpu"), run);
  const auto at = static_cast<std::size_t>(model.best_iteration - 1);
  EXPECT_GE(at, 1U) << "the case is about a target reached later";
  return *model.iterations[at].validation;
}

TEST(Resume, StopsWhereTheTargetWasReached) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const char* metric = feedback == Feedback::kExplicit ? "rmse" : "ndcg@5";
    AlsParams params = small(feedback, 8, 6);
    params.patience = 4;
    params.regularization = 0.01;
    params.seed = 3;
    const double target = best_validation(params, metric);
    expect_same_after_any_break(params, metric, target);
  }
}

TEST(Resume, ATargetIsOfTheRunAndNotOfTheModel) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  const AlsParams params = overfitting(Feedback::kExplicit, 8);
  ResolvedRun run;
  run.validation = &parts.validation;
  run.validation_metric = "rmse";
  const Model whole = train(parts.train, params, device, run);
  const double first = *whole.iterations[0].validation;
  ResolvedRun early = run;
  early.target = first;
  const Model part = train(parts.train, params, device, early);
  ASSERT_EQ(part.stop_reason, "target");
  ASSERT_EQ(part.iterations.size(), 1U);
  const test::TemporaryFolder folder;
  save_model(part, folder / "part");
  const Model back = load_model(folder / "part");
  EXPECT_EQ(back.stop_reason, "target");
  // Without a target, or with another that was not reached, it goes on.
  run.resume = &back;
  expect_same_training(train(parts.train, params, device, run), whole);
  run.target = 1e-6;
  expect_same_training(train(parts.train, params, device, run), whole);
  // One that an earlier training has reached leaves it as it is, whatever ended it.
  run.resume = &whole;
  run.target = first;
  run.on_iteration = [](const TrainingState&) { ADD_FAILURE() << "it was reached"; };
  const Model same = train(parts.train, params, device, run);
  EXPECT_EQ(same.stop_reason, "target");
  EXPECT_EQ(same.iterations.size(), whole.iterations.size());
  test::expect_same_factors(test::factors_of(same), test::factors_of(whole));
}

TEST(Target, IsRefusedWhereNothingCanReachIt) {
  const Parts parts = make_parts();
  const auto refused = [&](const TrainingParams& params, const ResolvedRun& run) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)train(parts.train, params, open_device("cpu"), run); });
  };
  const AlsParams params = small(Feedback::kImplicit, 4, 3);
  ResolvedRun run;
  run.target = 0.5;
  EXPECT_THAT(refused(PopularParams{}, run), testing::HasSubstr("a target needs an algorithm"));
  EXPECT_THAT(refused(params, run), testing::HasSubstr("target 0.5 needs validation data"));
  run.validation = &parts.validation;
  EXPECT_THAT(refused(params, run), testing::HasSubstr("target 0.5 needs a metric"));
  run.validation_metric = "ndcg@5";
  run.target = 1.5;
  EXPECT_THAT(refused(params, run),
              testing::HasSubstr("1.5 for ndcg@5: its values are from 0 to 1"));
  run.validation_metric = "mae";
  run.target = -1.0;
  EXPECT_THAT(refused(params, run), testing::HasSubstr("-1 for mae: its values are 0 or more"));
  run.target = std::numeric_limits<double>::quiet_NaN();
  EXPECT_THAT(refused(params, run), testing::HasSubstr("nan for mae"));
}

TEST(Stop, EndsWithTheModelSoFar) {
  expect_same_after_any_stop(small(Feedback::kImplicit, 16, 4), nullptr);
  expect_same_after_any_stop(small(Feedback::kExplicit, 5, 3), nullptr);
  AlsParams params = overfitting(Feedback::kImplicit, 8);
  expect_same_after_any_stop(params, "ndcg@5");
  params.patience = 3;
  expect_same_after_any_stop(params, "ndcg@5");
  params = small(Feedback::kImplicit, 8, 200);
  params.tolerance = 0.02;
  expect_same_after_any_stop(params, nullptr);
}

TEST(Stop, BeforeAnyIterationThereIsNoModel) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  std::atomic<bool> stop{true};
  ResolvedRun run;
  run.stop = &stop;
  for (const TrainingParams& params :
       {TrainingParams(small(Feedback::kImplicit, 4, 3)), TrainingParams(KnnParams{}),
        TrainingParams(PopularParams{}), TrainingParams(BiasParams{})}) {
    test::error_of(ErrorKind::kCancelled, [&] { (void)train(parts.train, params, device, run); });
  }
  // None was wanted.
  const Model none = train(parts.train, small(Feedback::kImplicit, 4, 0), device, run);
  EXPECT_EQ(none.stop_reason, "iterations");
  stop = false;
  EXPECT_NO_THROW((void)train(parts.train, KnnParams{}, device, run));
}

/// What is under way is finished: from another thread, in a step that waits to be asked.
TEST(Stop, LetsTheIterationUnderWayFinish) {
  const Parts parts = make_parts();
  std::atomic<bool> stop{false};
  ResolvedRun run;
  run.stop = &stop;
  run.on_plan = [&](const MemoryPlan&) {
    std::thread([&] { stop = true; }).join();  // the first iteration has not begun
  };
  test::error_of(ErrorKind::kCancelled, [&] {
    (void)train(parts.train, small(Feedback::kImplicit, 4, 3), open_device("cpu"), run);
  });
  stop = false;
  run.on_plan = {};
  run.validation = &parts.validation;
  int seen = 0;
  run.on_iteration = [&](const TrainingState& state) {
    seen = static_cast<int>(state.iterations.size());
    std::thread([&] { stop = true; }).join();
    EXPECT_TRUE(state.iterations.back().validation);
  };
  const Model model = train(parts.train, small(Feedback::kImplicit, 4, 3), open_device("cpu"), run);
  EXPECT_EQ(seen, 1);
  EXPECT_EQ(model.iterations.size(), 1U);
  EXPECT_TRUE(model.iterations[0].validation);
}

TEST(Resume, MoreIterationsGoOnFromAFinishedModel) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  AlsParams params = overfitting(Feedback::kExplicit, 9);
  ResolvedRun run;
  run.validation = &parts.validation;
  const Model whole = train(parts.train, params, device, run);
  params.iterations = 6;
  const Model part = train(parts.train, params, device, run);
  ASSERT_LT(part.best_iteration, 6) << "the case is about an early best";
  run.resume = &part;
  params.iterations = 9;
  expect_same_training(train(parts.train, params, device, run), whole);
}

/// Where the best iteration's factors are not in the file, it says so and keeps none by mistake.
TEST(Resume, RefusesABestIterationWithoutFactors) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  const AlsParams params = small(Feedback::kImplicit, 4, 3);
  ResolvedRun run;
  run.validation = &parts.validation;
  Model model = train(parts.train, params, device, run);
  model.iterations[0].validation = 0.9;
  model.best_iteration = 3;
  run.resume = &model;
  for (const int iterations : {3, 5}) {
    AlsParams more = params;
    more.iterations = iterations;
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                               [&] { (void)train(parts.train, more, device, run); }),
                testing::HasSubstr("iteration 1 was the best"));
  }
}

TEST(Resume, RefusesWhatWouldBeIgnored) {
  const Parts parts = make_parts();
  const auto device = open_device("cpu");
  const AlsParams params = small(Feedback::kImplicit, 4, 3);
  ResolvedRun run;
  run.validation = &parts.validation;
  const Model model = train(parts.train, params, device, run);
  const auto refused = [&](const TrainingParams& changed, const ResolvedRun& with) {
    return test::error_of(ErrorKind::kInvalidArgument,
                          [&] { (void)train(parts.train, changed, device, with); });
  };
  run.resume = &model;
  AlsParams changed = params;
  changed.seed = 7;
  EXPECT_THAT(refused(changed, run), testing::HasSubstr("seed 7"));
  changed = params;
  changed.factors = 5;
  EXPECT_THAT(refused(changed, run), testing::HasSubstr("factors 5"));
  EXPECT_THAT(refused(small(Feedback::kExplicit, 4, 3), run), testing::HasSubstr("feedback"));
  changed = params;
  changed.iterations = 2;
  EXPECT_THAT(refused(changed, run), testing::HasSubstr("has done 3 already"));
  run.validation_metric = "recall@10";
  EXPECT_THAT(refused(params, run), testing::HasSubstr("measured by ndcg@10"));
  run.validation_metric = {};
  run.validation_negatives = 3;
  EXPECT_THAT(refused(params, run), testing::HasSubstr("ndcg@10 among 3 negatives"));
  run = {};
  run.validation_metric = "ndcg@10";
  EXPECT_THAT(refused(params, run), testing::HasSubstr("needs validation"));
  run = {};
  run.validation_negatives = 3;
  EXPECT_THAT(refused(params, run), testing::HasSubstr("3 validation negatives need validation"));
  changed = params;
  changed.patience = 2;
  EXPECT_THAT(refused(changed, {}), testing::HasSubstr("patience 2 needs validation"));
  for (const TrainingParams& other : {TrainingParams(KnnParams{}), TrainingParams(PopularParams{}),
                                      TrainingParams(BiasParams{})}) {
    ResolvedRun aimed;
    aimed.validation = &parts.validation;
    aimed.validation_metric = "ndcg@10";
    aimed.target = 0.5;
    EXPECT_THAT(refused(other, aimed), testing::HasSubstr("iterates"));
    ResolvedRun kept;
    kept.checkpoint.path = "x";
    EXPECT_THAT(refused(other, kept), testing::HasSubstr("iterates"));
    ResolvedRun resumed;
    resumed.resume = &model;
    EXPECT_THAT(refused(other, resumed), testing::HasSubstr("iterates"));
  }
}

TEST(Validation, OfWhatDoesNotIterateIsMeasuredOnceAndKept) {
  const Parts parts = make_parts();
  const Device device = open_device("cpu");
  const test::TemporaryFolder folder;
  const auto path = folder / "m";
  for (const TrainingParams& params : {TrainingParams(KnnParams{}), TrainingParams(PopularParams{}),
                                       TrainingParams(BiasParams{})}) {
    ResolvedRun run;
    run.validation = &parts.validation;
    run.validation_metric = "recall@3";
    const auto model = std::make_shared<Model>(train(parts.train, params, device, run));
    ASSERT_TRUE(model->validation.has_value());
    const TestSet test = make_test_set(*model, parts.validation);
    EvaluateOptions options;
    options.k = {3};
    options.metrics = {"recall"};
    const EvaluationReport report = evaluate({model, device}, test, options);
    EXPECT_EQ(*model->validation, report.metrics.at("recall@3"));
    EXPECT_EQ(model->best_validation(), model->validation);
    run.validation_negatives = 2;
    const Model sampled = train(parts.train, params, device, run);
    EXPECT_EQ(sampled.validation_among, "2 negatives");
    save_model(sampled, path);
    const Model loaded = load_model(path);
    EXPECT_EQ(loaded.validation, sampled.validation);
    EXPECT_EQ(loaded.validation_among, sampled.validation_among);
    EXPECT_EQ(loaded.validation_metric, "recall@3");
  }
}

Interactions interactions(IdMap users, IdMap items) {
  Interactions data;
  data.by_user = test::random_csr(users.size(), items.size(), 2.0);
  data.users = std::move(users);
  data.items = std::move(items);
  return data;
}

void expect_refused(const Model& model, const Interactions& data, const char* part) {
  try {
    require_same_ids(model, data);
    FAIL() << "accepted: " << part;
  } catch (const Error& fault) {
    EXPECT_EQ(fault.kind(), ErrorKind::kInvalidArgument);
    EXPECT_THAT(fault.what(), testing::HasSubstr(part));
  }
}

TEST(SameIds, AreRequired) {
  for (const Ids kind : {Ids::kRange, Ids::kIntegers, Ids::kText}) {
    const Model model = make_model({5, 9, 1, kind, false});
    require_same_ids(model, interactions(model.users.clone(), model.items.clone()));
    const auto fewer = test::make_ids(4, kind, "user");
    expect_refused(model, interactions(fewer.clone(), model.items.clone()),
                   "the model knows 5 users, the interactions have 4");
    const auto more = test::make_ids(10, kind, "item");
    expect_refused(model, interactions(model.users.clone(), more.clone()), "number 10: nothing in");
  }
  const Model model = make_model({3, 3, 1, Ids::kRange, false});
  const std::array<std::string, 3> same{"0", "1", "2"};
  require_same_ids(model, interactions(IdMap::from_text(same), model.items.clone()));
  const std::array<std::string, 3> other{"0", "1", "x"};
  expect_refused(model, interactions(model.users.clone(), IdMap::from_text(other)),
                 "number 3: '2' in the model, 'x' in the interactions");
}

}  // namespace
}  // namespace likewise
