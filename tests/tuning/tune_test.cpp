// SPDX-License-Identifier: Apache-2.0
#include "likewise/tune.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <memory>
#include <thread>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/parameters/rules.h"
#include "backends/jobs/device_jobs.h"
#include "data/sample_users.h"
#include "likewise/error.h"
#include "likewise/synthetic.h"
#include "tests/errors.h"
#include "tests/support.h"
#include "tests/training/parts.h"
#include "training/choose.h"
#include "training/train.h"
#include "tuning/search_space.h"
#include "tuning/tune_search.h"
#include "tuning/validation_sample.h"

namespace likewise {
namespace {

using testing::HasSubstr;

const Interactions& data() {
  static const Interactions made = generate(parse_shape("200x60x4000"), 5);
  return made;
}

TuneOptions few(int trials, std::vector<std::string> algorithms = {"als", "item-knn"}) {
  TuneOptions options;
  options.algorithms = std::move(algorithms);
  options.budget = parse_budget(fmt::format("{}", trials));
  options.seed = 3;
  return options;
}

/// Stands still but when it is moved on.
class StillClock {
 public:
  std::chrono::steady_clock::time_point now() const {
    return std::chrono::steady_clock::time_point(std::chrono::milliseconds(milliseconds_));
  }
  void move_on(int milliseconds) { milliseconds_ += milliseconds; }

 private:
  std::atomic<int> milliseconds_ = 0;
};

/// On the CPU, whatever the machine has.
TuneResult search(const Interactions& from, const TuneOptions& options, TuneRun run = {}) {
  run.open = [](const TrainingParams&, std::span<const Job>) { return open_device("cpu"); };
  return tune(from, options, run);
}

std::vector<std::string> summary(const TuneResult& result) {
  std::vector<std::string> all;
  for (const TuneTrial& trial : result.trials) {
    std::string text = fmt::format("{} {} {} {}", trial.number, algorithm_name(trial.params),
                                   trial.origin, trial.value ? *trial.value : -1.0);
    if (trial.final_value) text += fmt::format(" final {}", *trial.final_value);
    for (const SearchedParameter& one : result.searched(trial)) {
      text += fmt::format(" {}", parameter_text(trial.params, one.name));
    }
    all.push_back(std::move(text));
  }
  return all;
}

std::string text_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

TEST(TuneBudget, IsATimeOrANumberOfTrials) {
  EXPECT_EQ(parse_budget("200").trials, 200);
  EXPECT_EQ(parse_budget("30s").seconds, 30.0);
  EXPECT_EQ(parse_budget("1.5h").seconds, 5400.0);
  EXPECT_EQ(parse_budget("10m").seconds, 600.0);
  for (const char* wrong :
       {"", "0", "0m", "-1", "1.5", "2d", "m", "nan", "inf", "1e3x", "10 m", "10000000"}) {
    EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, [&] { (void)parse_budget(wrong); }),
                HasSubstr("give a number of trials, as 200, or a time"))
        << wrong;
  }
}

TEST(Tune, WrongOptionsAreNamed) {
  const auto refused = [](const TuneOptions& options) {
    return test::error_of(ErrorKind::kInvalidArgument, [&] { (void)search(data(), options); });
  };
  TuneOptions options = few(4, {"magic"});
  EXPECT_THAT(refused(options), HasSubstr("no algorithm 'magic'"));
  options = few(4, {"popular"});
  EXPECT_THAT(refused(options), HasSubstr("popular has nothing to search"));
  options = few(4, {"sgd"});
  EXPECT_THAT(refused(options), HasSubstr("sgd learns from explicit feedback only"));
  options = few(4, {"als", "als"});
  EXPECT_THAT(refused(options), HasSubstr("named twice"));
  options = few(1);
  EXPECT_THAT(refused(options), HasSubstr("less than one for each of 2 algorithms"));
  options = few(4);
  options.metric = "magic";
  EXPECT_THAT(refused(options), HasSubstr("unknown metric"));
  options.metric = "rmse";
  EXPECT_THAT(refused(options), HasSubstr("rmse compares predicted ratings"));
  options.metric = "coverage@10";
  EXPECT_THAT(refused(options), HasSubstr("does not say how good lists are"));
  options = few(4);
  options.split.method = SplitMethod::kKFold;
  EXPECT_THAT(refused(options), HasSubstr("not by folds"));
  options = few(4);
  options.split.test = 1.5;
  EXPECT_THAT(refused(options), HasSubstr("validation_share must be in (0, 1)"));
  options = few(4);
  options.budget = {};
  EXPECT_THAT(refused(options), HasSubstr("budget"));
}

TEST(Tune, NothingToValidateOnIsSaid) {
  Interactions empty;
  empty.users = data().users.share();
  empty.items = data().items.share();
  empty.by_user = test::make_csr(data().by_user.rows, data().by_user.cols, {});
  TuneRun run;
  run.validation = &empty;
  EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)search(data(), few(2), run); }),
              HasSubstr("nothing to rank"));
}

TEST(Tune, SaysWhichAlgorithmsDoNotSeeThatValuesFade) {
  Interactions faded = generate(parse_shape("200x60x4000"), 5);
  faded.faded = true;
  const std::vector<std::string> notes = search(faded, few(2)).notes;
  ASSERT_EQ(notes.size(), 1U);
  EXPECT_EQ(spelled(notes.front()),
            "half_life does nothing for als: all values above 0 count alike there");
  EXPECT_THAT(search(faded, few(1, {"item-knn"})).notes, testing::IsEmpty());
  const std::string why = test::error_of(ErrorKind::kInvalidArgument, [&] {
    (void)search(faded, few(2, {"als", "bpr"}));
  });
  EXPECT_THAT(why, HasSubstr("would do nothing here: als takes all values above 0 alike"));
}

TEST(Tune, TheSameSeedTheSameSearchWhateverTheThreads) {
  std::vector<std::string> first;
  for (const int threads : {1, 2, 3}) {
    with_threads(threads, [&] {
      const TuneResult result = search(data(), few(22));
      if (first.empty()) first = summary(result);
      EXPECT_EQ(summary(result), first);
    });
  }
  TuneOptions other = few(22);
  other.seed = 4;
  EXPECT_NE(summary(search(data(), other)), first);
}

TEST(Tune, TheWinnerIsTrainedOnEverythingWithItsIterations) {
  TuneRun run;
  run.source = "some.csv";
  const TuneResult result = search(data(), few(12, {"als"}), run);
  ASSERT_TRUE(result.model);
  const TuneTrial& best = *result.best();
  EXPECT_TRUE(result.beats_baseline());
  EXPECT_EQ(result.model->history.nnz(), data().by_user.nnz());
  EXPECT_EQ(std::ssize(result.model->iterations), best.best_iteration);
  EXPECT_EQ(std::get<AlsParams>(result.model->params).iterations, best.best_iteration);
  EXPECT_EQ(std::get<AlsParams>(result.model->params).patience, 0);
  const ModelSearch& note = *result.model->provenance.search;
  EXPECT_EQ(note.metric, "ndcg@10");
  EXPECT_EQ(note.value, *best.final_value);
  EXPECT_EQ(note.baseline_value, *result.baseline.final_value);
  EXPECT_EQ(note.trials, 12);
  EXPECT_EQ(note.baseline, "popular");
  EXPECT_EQ(note.validation, fmt::format("per-user 0.2, mean of {} parts", result.final_parts));
  // It is what training with its parameters on everything gives.
  const Model again = train(data(), result.model->params, open_device("cpu"));
  const float* expected = again.factors()->users.row(7);
  EXPECT_TRUE(std::equal(expected, expected + std::get<AlsParams>(best.params).factors,
                         result.model->factors()->users.row(7)));
}

TEST(Tune, TheWinnersWeightsAreAsFarFromWhatSuitsEverything) {
  const TuneResult result = search(data(), few(12, {"als"}));
  const TrainingParams all = with_data_defaults(data().by_user.view(), result.usual.front());
  for (const char* name : {"unobserved_weight", "regularization"}) {
    const auto number = [&](const TrainingParams& params) {
      return std::stod(parameter_text(params, name));
    };
    EXPECT_NE(number(all), number(result.usual.front())) << name;
    EXPECT_NEAR(number(result.model->params) / number(all),
                number(result.best()->params) / number(result.usual.front()), 0.02)
        << name;
  }
  EXPECT_EQ(parameter_text(result.model->params, "factors"),
            parameter_text(result.best()->params, "factors"));
  EXPECT_EQ(result.winner().number, result.best()->number);
  EXPECT_EQ(parameter_text(result.winner().params, "unobserved_weight"),
            parameter_text(result.model->params, "unobserved_weight"));
}

TEST(Tune, AValueIsThatOfATrainingWithoutBreaks) {
  TuneOptions options = few(12, {"als"});
  SplitOptions how = options.split;
  how.seed = options.seed;
  const Split parts = std::move(split(data(), how).front());
  const TuneResult result = search(data(), options);
  for (const TuneTrial& trial : result.trials) {
    SCOPED_TRACE(trial.number);
    ResolvedRun run;
    run.validation = &parts.test;
    const Model model = train(parts.train, trial.params, open_device("cpu"), run);
    EXPECT_EQ(model.best_validation(), trial.value);
    EXPECT_EQ(model.best_iteration, trial.best_iteration);
  }
}

TEST(Tune, HalvingTrainsTheBetterOnesLonger) {
  const TuneResult result = search(data(), few(9, {"bpr"}));
  const int defaults = result.trials.front().iterations;
  EXPECT_GE(defaults, 100);
  int longest = 0;
  int first_step_only = 0;
  for (const TuneTrial& trial : std::span(result.trials).subspan(1)) {
    longest = std::max(longest, trial.iterations);
    first_step_only += trial.iterations == 20 ? 1 : 0;  // a ninth of 180
  }
  // Three of nine go on, the defaults may be one of them.
  EXPECT_TRUE(first_step_only == 5 || first_step_only == 6) << first_step_only;
  EXPECT_GT(longest, 20);
}

TEST(Tune, ASearchEndsNoWorseThanTheDefaults) {
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    const std::size_t count = tuned_algorithms(feedback).size();
    TuneOptions options = few(static_cast<int>(count), {});
    options.feedback = feedback;
    SplitOptions how = options.split;
    how.seed = options.seed;
    const Split parts = std::move(split(data(), how).front());
    const TuneResult result = search(data(), options);
    ASSERT_EQ(result.trials.size(), count);
    ASSERT_EQ(result.usual.size(), count);
    const bool more = feedback == Feedback::kImplicit;
    for (std::size_t i = 0; i < count; ++i) {
      const TuneTrial& trial = result.trials[i];
      SCOPED_TRACE(algorithm_name(trial.params));
      EXPECT_EQ(trial.origin, "defaults");
      ResolvedRun run;
      run.validation = &parts.test;
      const TrainingParams usual = with_data_defaults(
          parts.train.by_user.view(), default_params(algorithm_name(trial.params), feedback));
      const Model model = train(parts.train, usual, open_device("cpu"), run);
      EXPECT_EQ(trial.value, model.best_validation());
      if (!model.iterations.empty()) {
        EXPECT_EQ(trial.iterations, std::ssize(model.iterations));
        EXPECT_EQ(trial.best_iteration, model.best_iteration);
      }
    }
    // The best of them is in the final round.
    const auto better = [&](const TuneTrial& a, const TuneTrial& b) {
      return more ? *a.value > *b.value : *a.value < *b.value;
    };
    const auto defaults = std::ranges::min_element(result.trials, better);
    ASSERT_TRUE(defaults->final_value);
    EXPECT_TRUE(more ? *result.best()->final_value >= *defaults->final_value
                     : *result.best()->final_value <= *defaults->final_value);
  }
}

TEST(Tune, TheChoiceOfAutoComesFirstAndIsAFinalist) {
  const AlgorithmChoice choice =
      choose_algorithm(data().by_user.view(), Feedback::kImplicit, open_device("cpu"));
  EXPECT_EQ(choice.algorithm, "als");
  const TuneResult result = search(data(), few(12, {"item-knn", "bpr", "als"}));
  const TuneTrial& first = result.trials.front();
  EXPECT_EQ(algorithm_name(first.params), "als");
  EXPECT_EQ(first.origin, "defaults");
  ASSERT_TRUE(first.final_value);
  EXPECT_LE(*first.final_value, *result.best()->final_value);
  // Then that whose estimate is less.
  EXPECT_EQ(algorithm_name(result.trials[1].params), "bpr");
  EXPECT_EQ(algorithm_name(result.trials[2].params), "item-knn");
}

TEST(Tune, TheChoiceStaysWhereNoTrialIsBetterByMoreThanLuck) {
  TuneResult result;
  result.metric = parse_metric("ndcg@10");
  result.trials.resize(2);
  TuneTrial& usual = result.trials[0];
  TuneTrial& other = result.trials[1];
  usual.number = 1;
  other.number = 2;
  const auto best = [&](double of_usual, double of_other) {
    usual.value = of_usual;
    other.value = of_other;
    return result.best()->number;
  };
  EXPECT_EQ(best(0.2, 0.2001), 2);  // no choice
  result.choice = 1;
  EXPECT_EQ(best(0.2, 0.2009), 1);
  EXPECT_EQ(best(0.2, 0.2011), 2);
  EXPECT_EQ(best(0.2, 0.1), 1);
  EXPECT_EQ(best(0.0, 0.1), 2);
  // By final values, where both have one.
  usual.final_value = 0.3;
  EXPECT_EQ(best(0.2, 0.3), 1);
  other.final_value = 0.301;
  EXPECT_EQ(best(0.2, 0.3), 1);
  other.final_value = 0.302;
  EXPECT_EQ(best(0.3, 0.2), 2);
  result.metric = parse_metric("rmse");
  usual.final_value = 0.9;
  other.final_value = 0.899;
  EXPECT_EQ(best(0.9, 0.9), 2);
}

TEST(Tune, DefaultsThatWinAreTrainedAsTrainDoes) {
  const TuneResult result = search(data(), few(1, {"als"}));
  EXPECT_EQ(result.choice, 1);
  const auto& params = std::get<AlsParams>(result.model->params);
  const TrainingParams usual =
      with_data_defaults(data().by_user.view(), default_params("als", Feedback::kImplicit));
  EXPECT_NE(result.best()->best_iteration, params.iterations);  // of fewer data
  EXPECT_EQ(params.iterations, std::get<AlsParams>(usual).iterations);
  const Model wanted = train(data(), usual, open_device("cpu"));
  const float* row = wanted.factors()->users.row(7);
  EXPECT_TRUE(std::equal(row, row + params.factors, result.model->factors()->users.row(7)));
}

TEST(Tune, WhatTakesMoreThanAFairShareIsLeftOutAndSaid) {
  const Interactions wide = generate(parse_shape("200x4000x8000"), 1);
  TuneOptions options = few(2, {"als", "ease"});
  options.budget = parse_budget("2s");
  TuneResult result;
  with_threads(1, [&] { result = search(wide, options); });
  EXPECT_TRUE(result.notes.empty());
  ASSERT_EQ(result.left_out.size(), 1U);
  EXPECT_THAT(result.left_out.front(), testing::StartsWith("ease: a training on "));
  EXPECT_EQ(result.usual.size(), 1U);
  // Trials are not limited by time.
  EXPECT_EQ(search(data(), few(2, {"als", "ease"})).usual.size(), 2U);
}

TEST(Tune, LaterTrialsAreDrawnNearTheBest) {
  const TuneResult result = search(data(), few(14, {"als"}));
  EXPECT_EQ(result.trials[0].origin, "defaults");
  for (std::size_t i = 1; i < 9; ++i) EXPECT_EQ(result.trials[i].origin, "quasi-random");
  EXPECT_EQ(result.trials[9].origin, "quasi-random");
  TuneResult first = search(data(), few(9, {"als"}));
  EXPECT_EQ(result.trials[10].origin, fmt::format("near {}", first.best()->number));
}

TEST(Tune, RatingsAreSearchedByRmse) {
  TuneOptions options = few(8, {});
  options.feedback = Feedback::kExplicit;
  const TuneResult result = search(data(), options);
  EXPECT_EQ(result.metric.key, "rmse");
  EXPECT_EQ(algorithm_name(result.baseline.params), "bias");
  std::set<std::string_view> seen;
  for (const TuneTrial& trial : result.trials) seen.insert(algorithm_name(trial.params));
  EXPECT_EQ(seen.size(), 4U);
  for (const TuneTrial& trial : result.trials) {
    if (!trial.final_value) continue;
    EXPECT_GE(*trial.final_value, *result.best()->final_value);
  }
}

/// Of a trial's parameters, trained and measured on one part after another.
[[nodiscard]] double mean_over(std::span<const Split> parts, const TrainingParams& params) {
  double sum = 0.0;
  for (const Split& part : parts) {
    const auto model = std::make_shared<Model>(train(part.train, params, open_device("cpu")));
    const Recommender recommender(model, open_device("cpu"));
    EvaluateOptions options;
    options.metrics = {"ndcg"};
    sum += evaluate(recommender, make_test_set(*model, part.test), options).metrics.at("ndcg@10");
  }
  return sum / static_cast<double>(parts.size());
}

TEST(Tune, TheBestAreMeasuredOnFurtherParts) {
  TuneOptions options = few(20);
  const TuneResult drawn = search(data(), options);
  EXPECT_EQ(drawn.final_parts, 3);
  std::vector<Split> parts;
  for (int number = 0; number < drawn.final_parts; ++number) {
    SplitOptions how = options.split;
    how.seed = options.seed + static_cast<std::uint64_t>(number);
    parts.push_back(std::move(split(data(), how).front()));
  }
  std::vector<double> values;
  std::vector<double> others;
  int defaults = 0;
  for (const TuneTrial& trial : drawn.trials) {
    if (!trial.final_value) {
      if (trial.value) others.push_back(*trial.value);
      continue;
    }
    SCOPED_TRACE(trial.number);
    EXPECT_NEAR(*trial.final_value, mean_over(parts, trial.params), 1e-12);
    defaults += trial.origin == "defaults" ? 1 : 0;
    values.push_back(*trial.value);
  }
  EXPECT_GE(defaults, 1);
  EXPECT_TRUE(values.size() >= 6 && values.size() <= 8) << values.size();
  EXPECT_LE(std::ranges::max(others), std::ranges::max(values));
  for (const TuneTrial* trial : drawn.ranked()) {
    if (!trial->final_value) continue;
    EXPECT_LE(*trial->final_value, *drawn.best()->final_value);
  }
  EXPECT_EQ(drawn.ranked().size(), others.size() + values.size());
  ASSERT_TRUE(drawn.baseline.final_value);
  EXPECT_NEAR(*drawn.baseline.final_value, mean_over(parts, drawn.baseline.params), 1e-12);
}

TEST(Tune, TheBestIsComparedWithTheBaselineOnTheSameParts) {
  TuneResult result;
  result.metric = parse_metric("ndcg@10");
  result.baseline.params = default_params("popular", Feedback::kImplicit);
  result.trials.resize(1);
  TuneTrial& trial = result.trials.front();
  trial.number = 1;
  trial.params = default_params("item-knn", Feedback::kImplicit);
  trial.value = 0.2;
  result.baseline.value = 0.1;
  EXPECT_TRUE(result.beats_baseline());
  EXPECT_EQ(result.parts_text(trial), "");
  result.final_parts = 3;
  trial.final_value = 0.15;
  result.baseline.final_value = 0.16;
  EXPECT_FALSE(result.beats_baseline());
  EXPECT_THAT(result.warning(), HasSubstr("ndcg@10 0.1500 (mean of 3 parts) is no better than "
                                          "0.1600 of popular"));
  result.baseline.value = 0.3;
  result.baseline.final_value = 0.14;
  EXPECT_TRUE(result.beats_baseline());
  trial.final_value.reset();
  EXPECT_FALSE(result.beats_baseline());
}

/// Users come one after the other: of the last ones the older part knows nothing.
Interactions coming_users() {
  Interactions timed = generate(parse_shape("200x60x4000"), 5);
  timed.times = Array<Time>(timed.by_user.nnz());
  for (Index user = 0; user < timed.by_user.rows; ++user) {
    for (Offset at = timed.by_user.offsets[user]; at < timed.by_user.offsets[user + 1]; ++at) {
      timed.times[at] = Time{user * 100 + (at * 7919) % 1000};
    }
  }
  return timed;
}

TEST(Tune, NoTrialIsMeasuredOnUsersWithoutAHistory) {
  const Interactions timed = coming_users();
  TuneOptions options = few(3, {"item-knn"});
  options.split.method = SplitMethod::kTime;
  const TuneResult result = search(timed, options);
  SplitOptions how = options.split;
  how.seed = options.seed;
  const Split parts = std::move(split(timed, how).front());
  EvaluateOptions of_lists;
  of_lists.metrics = {"ndcg"};
  const auto measured = [&](const TrainingParams& params) {
    const auto model = std::make_shared<Model>(train(parts.train, params, open_device("cpu")));
    return evaluate(Recommender(model, open_device("cpu")), make_test_set(*model, parts.test),
                    of_lists);
  };
  const TrainingParams& best = result.best()->params;
  EXPECT_NE(measured(best).metrics.at("ndcg@10"), *result.best()->value);
  of_lists.with_history = true;
  const EvaluationReport known = measured(best);
  EXPECT_EQ(known.metrics.at("ndcg@10"), *result.best()->value);
  EXPECT_GT(known.users_without_history, 5);
  EXPECT_EQ(result.users_not_ranked, known.users_without_history);
  EXPECT_EQ(result.measured_users, known.users_evaluated);
  EXPECT_EQ(result.validation_users, result.measured_users + result.users_not_ranked);
  EXPECT_EQ(result.sample_text(), "");
  EXPECT_THAT(result.model->provenance.search->validation,
              HasSubstr(fmt::format("; {} of {} users have no history: not ranked",
                                    result.users_not_ranked, result.validation_users)));
  // A part that was given, too; and ratings are those of all.
  TuneRun run;
  run.validation = &parts.test;
  EXPECT_EQ(search(parts.train, few(3, {"item-knn"}), run).users_not_ranked,
            result.users_not_ranked);
  TuneOptions of_ratings = few(2, {"item-knn"});
  of_ratings.feedback = Feedback::kExplicit;
  EXPECT_EQ(search(parts.train, of_ratings, run).users_not_ranked, 0);
}

TEST(Tune, WhereNobodyHasAHistoryThatIsSaid) {
  std::vector<test::Entry> entries;
  for (Index user = 0; user < 50; ++user) entries.push_back({user, user % 7, 1.0F});
  const Interactions once = test::part_of(entries, 0, entries.size());
  TuneOptions options = few(2);
  options.split.method = SplitMethod::kRandom;
  EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)search(once, options); }),
              HasSubstr("nothing to rank: of 10 users of the validation part none has a history "
                        "in the training part"));
}

/// The best trial of each algorithm.
[[nodiscard]] std::map<std::string_view, const TuneTrial*> best_of_each(const TuneResult& result) {
  std::map<std::string_view, const TuneTrial*> best;
  for (const TuneTrial& trial : result.trials) {
    const TuneTrial*& one = best[algorithm_name(trial.params)];
    if (trial.value && (one == nullptr || is_better(result.metric, *trial.value, *one->value))) {
      one = &trial;
    }
  }
  return best;
}

TEST(Tune, FinalistsAreNotAlike) {
  const TuneResult result = search(data(), few(60, {"als"}));
  std::vector<const TuneTrial*> finalists;
  for (const TuneTrial& trial : result.trials) {
    if (trial.final_value && trial.origin != "defaults") finalists.push_back(&trial);
  }
  const SearchSpace space(result.usual.front(), 3);
  const auto alike = [&](const TuneTrial& a, const TuneTrial& b) {
    const Point one = space.point_of(a.params);
    const Point two = space.point_of(b.params);
    return std::ranges::equal(one, two, [](double x, double y) { return std::abs(x - y) < 0.1; });
  };
  EXPECT_GE(finalists.size(), 3U);
  for (std::size_t i = 0; i < finalists.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) EXPECT_FALSE(alike(*finalists[i], *finalists[j]));
  }
  // Without the rule some of the best would be: the search ends near the best of them.
  const TuneTrial* const best = best_of_each(result).at("als");
  EXPECT_TRUE(best->final_value);
  int like = 0;
  for (const TuneTrial& trial : result.trials) {
    if (&trial != best && trial.value && alike(trial, *best)) ++like;
  }
  EXPECT_GE(like, 3);
}

TEST(Tune, TheBestOfACloseAlgorithmIsAFinalist) {
  // Without the rule the six are all of the algorithm that got most of the trials.
  const TuneResult small = search(data(), few(50, {}));
  const auto best = best_of_each(small);
  ASSERT_EQ(best.size(), 6U);
  const double most = *best.at(algorithm_name(small.ranked().front()->params))->value;
  int close = 0;
  for (const auto& [name, trial] : best) {
    SCOPED_TRACE(name);
    if (most - *trial->value > 2.0 * std::sqrt(most * (1.0 - most) / 200.0)) continue;
    EXPECT_TRUE(trial->final_value);
    ++close;
  }
  EXPECT_GE(close, 3);
}

TEST(Tune, TheBestOfADistantAlgorithmIsNone) {
  TuneOptions options = few(20, {"sgd", "item-knn"});
  options.feedback = Feedback::kExplicit;
  options.split.test = 0.4;  // many ratings: a small error
  const Interactions large = generate(parse_shape("2000x200x30000:explicit"), 5);
  const TuneResult result = search(large, options);
  const auto best = best_of_each(result);
  const double least = *best.at("sgd")->value;
  const double error = least / std::sqrt(0.4 * static_cast<double>(large.by_user.nnz()));
  ASSERT_GT(*best.at("item-knn")->value, least + 2.1 * error);
  for (const TuneTrial& trial : result.trials) {
    EXPECT_FALSE(algorithm_name(trial.params) == "item-knn" && trial.final_value) << trial.number;
  }
}

TEST(Tune, OfTheNewestInteractionsThePartsBeforeAreTaken) {
  Interactions timed = generate(parse_shape("200x60x4000"), 5);
  timed.times = Array<Time>(timed.by_user.nnz());
  for (Offset i = 0; i < timed.by_user.nnz(); ++i) {
    timed.times[i] = Time{(i * 7919) % 10007};  // no order of the rows
  }
  TuneOptions options = few(4, {"item-knn"});
  options.split.method = SplitMethod::kLast;
  const TuneResult result = search(timed, options);
  ASSERT_EQ(result.final_parts, 3);
  std::vector<Split> parts;
  for (int number = 0; number < 3; ++number) {
    const Interactions& from = parts.empty() ? timed : parts.back().train;
    parts.push_back(std::move(split(from, options.split).front()));
  }
  const TuneTrial& best = *result.best();
  EXPECT_NEAR(*best.final_value, mean_over(parts, best.params), 1e-12);
}

TEST(Tune, OneTrialNeedsNoFinalRound) {
  const TuneResult result = search(data(), few(1, {"item-knn"}));
  EXPECT_EQ(result.final_parts, 0);
  EXPECT_FALSE(result.best()->final_value);
}

TEST(Tune, OwnValidationDataJoinTheTrainingOfTheWinner) {
  const Split parts = std::move(split(data(), {.test = 0.2, .seed = 1}).front());
  TuneRun run;
  run.validation = &parts.test;
  run.validation_source = "held.csv";
  const TuneResult result = search(parts.train, few(3, {"item-knn"}), run);
  EXPECT_EQ(result.model->history.nnz(), data().by_user.nnz());
  EXPECT_EQ(result.model->provenance.search->validation, "held.csv");
  EXPECT_EQ(result.final_parts, 0);  // there is no other part
}

class TuneStopped : public testing::TestWithParam<int> {};

TEST_P(TuneStopped, KeepsWhatItHasAndGoesOnToTheSameWinner) {
  const TuneOptions options = few(10, {"bpr", "item-knn"});
  const test::TemporaryFolder folder;
  const TuneResult whole = search(data(), options);
  std::atomic<bool> stop = false;
  int steps = 0;
  TuneRun run;
  run.journal = folder / "journal";
  run.control.cancel = &stop;
  run.on_trial = [&](const TuneProgress&) { stop = ++steps >= GetParam(); };
  const TuneResult part = search(data(), options, run);
  EXPECT_EQ(part.stop_reason, "stopped");
  EXPECT_FALSE(part.model);
  ASSERT_NE(part.best(), nullptr);
  EXPECT_EQ(algorithm_name(part.for_everything), algorithm_name(part.best()->params));
  TuneRun later;
  later.journal = run.journal;
  EXPECT_THAT(
      test::error_of(ErrorKind::kInvalidArgument, [&] { (void)search(data(), options, later); }),
      HasSubstr("not over; resume it"));
  later.resume = true;
  const TuneResult resumed = search(data(), options, later);
  EXPECT_EQ(summary(resumed), summary(whole));
  ASSERT_TRUE(resumed.model);
}

INSTANTIATE_TEST_SUITE_P(Tune, TuneStopped, testing::Values(1, 4, 9),
                         [](const auto& trials) { return fmt::format("after_{}", trials.param); });

TEST(Tune, ACutJournalAtAnyByteGoesOnToTheSameWinner) {
  const TuneOptions options = few(6, {"bpr", "item-knn"});
  const test::TemporaryFolder folder;
  const std::string path = folder / "journal";
  TuneRun run;
  run.journal = path;
  const TuneResult whole = search(data(), options, run);
  const std::string journal = text_of(path);
  run.resume = true;
  for (std::size_t bytes = 0; bytes < journal.size(); bytes += journal.size() / 8 + 1) {
    SCOPED_TRACE(bytes);
    std::ofstream(path, std::ios::binary) << journal.substr(0, bytes);
    EXPECT_EQ(summary(search(data(), options, run)), summary(whole));
    EXPECT_EQ(std::ranges::count(text_of(path), '\n'), std::ranges::count(journal, '\n'));
  }
}

TEST(Tune, AFinishedJournalTrainsOnlyWhatALargerBudgetAdds) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  (void)search(data(), few(4, {"als"}), run);
  const auto lines = std::ranges::count(text_of(run.journal), '\n');
  run.resume = true;
  (void)search(data(), few(4, {"als"}), run);
  EXPECT_EQ(std::ranges::count(text_of(run.journal), '\n'), lines + 1);  // that it is over, again
  EXPECT_EQ(summary(search(data(), few(6, {"als"}), run)),
            summary(search(data(), few(6, {"als"}))));
  run.resume = false;
  EXPECT_NO_THROW((void)search(data(), few(2), run));  // a search that is over may be replaced
}

TEST(Tune, AJournalOfAnotherSearchIsRefused) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  (void)search(data(), few(4), run);
  run.resume = true;
  const auto refused = [&](const Interactions& other, const TuneOptions& options) {
    return test::error_of(ErrorKind::kInvalidArgument, [&] { (void)search(other, options, run); });
  };
  TuneOptions options = few(4);
  options.seed = 9;
  EXPECT_THAT(refused(data(), options), HasSubstr("its seed is 3, not 9"));
  options = few(4);
  options.metric = "recall@5";
  EXPECT_THAT(refused(data(), options), HasSubstr("its metric is \"ndcg@10\", not \"recall@5\""));
  EXPECT_THAT(refused(generate(parse_shape("200x60x4000"), 6), few(4)),
              HasSubstr("its training_part"));
  options = few(4);
  options.split = {.method = SplitMethod::kRandom, .test = 0.1};
  EXPECT_THAT(refused(data(), options),
              HasSubstr("its validation is \"per-user 0.2\", not \"random 0.1\""));
  // Earlier versions did not note how the part was cut.
  std::string earlier = text_of(run.journal);
  const std::string noted = "\"validation\":\"per-user 0.2\",";
  earlier.erase(earlier.find(noted), noted.size());
  std::ofstream(folder / "earlier") << earlier;
  run.journal = folder / "earlier";
  EXPECT_THAT(refused(data(), few(4)),
              HasSubstr("did not note its validation (\"per-user 0.2\" now)"));
  run.journal = folder / "notes";
  std::ofstream(run.journal) << "my notes\n";
  EXPECT_THAT(refused(data(), few(4)), HasSubstr("no journal of a search"));
  run.resume = false;
  EXPECT_THAT(refused(data(), few(4)), HasSubstr("no journal of a search"));
  EXPECT_EQ(text_of(run.journal), "my notes\n");
  for (const bool resume : {false, true}) {
    run.resume = resume;
    std::ofstream(run.journal) << "without an end of line";
    EXPECT_THAT(refused(data(), few(4)), HasSubstr("no journal of a search"));
    EXPECT_EQ(text_of(run.journal), "without an end of line");
  }
  run.journal = folder / "nothing";
  run.resume = true;
  EXPECT_THAT(test::error_of(ErrorKind::kNotFound, [&] { (void)search(data(), few(4), run); }),
              HasSubstr("no journal to resume"));
}

TEST(Tune, ASearchGoesOnWithAnotherBudgetThoughAlgorithmsJoin) {
  const Interactions wide = generate(parse_shape("200x4000x8000"), 1);
  const test::TemporaryFolder folder;
  StillClock clock;
  TuneRun run;
  run.journal = folder / "journal";
  run.now = [&] { return clock.now(); };
  run.on_trial = [&](const TuneProgress& now) {
    clock.move_on(now.so_far.trials.size() < 3 ? 1 : 10'000);  // then the time is over
  };
  TuneOptions options = few(2, {"als", "ease"});
  options.budget = parse_budget("2s");
  with_threads(1, [&] {
    const TuneResult first = search(wide, options, run);
    EXPECT_EQ(first.left_out.size(), 1U);
    run.resume = true;
    std::atomic<bool> stop = false;
    run.control.cancel = &stop;
    run.on_trial = [&](const TuneProgress&) { stop = true; };
    EXPECT_EQ(search(wide, few(2, {"als", "ease"}), run).usual.size(), 2U);
  });
}

TEST(Tune, ASearchGoesOnWithTheUsersThatItWasMeasuredOn) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  (void)search(data(), few(2, {"item-knn"}), run);
  std::string journal = text_of(run.journal);
  const std::string field = "\"measured_users\":200";
  ASSERT_NE(journal.find(field), std::string::npos);
  journal.replace(journal.find(field), field.size(), "\"measured_users\":50");
  std::ofstream(run.journal) << journal;
  run.resume = true;
  // Of 50 users, then, whose part is another one than that of the journal.
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] { (void)search(data(), few(2, {"item-knn"}), run); }),
              HasSubstr("its validation_part is"));
}

TEST(Tune, WhatCostsNoMoreThanOtherDefaultsIsSearched) {
  const Interactions wide = generate(parse_shape("3000x800x90000"), 1);
  TuneOptions options = few(1, {"als", "ease", "item-knn", "bpr", "spectral"});
  StillClock clock;
  TuneRun run;
  run.now = [&] { return clock.now(); };
  run.on_trial = [&](const TuneProgress&) { clock.move_on(100'000); };
  options.budget = parse_budget("0.5s");
  const TuneResult result = search(wide, options, run);
  EXPECT_FALSE(std::ranges::any_of(result.left_out, [](const std::string& why) {
    return why.starts_with("ease: a training");
  })) << result.left_out.front();
}

TEST(Tune, WhatABrokenLineOfAJournalNotedIsTrainedAgain) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  const std::vector<std::string> first = summary(search(data(), few(5), run));
  const std::string whole = text_of(run.journal);
  const auto lines = std::ranges::count(whole, '\n');
  run.resume = true;
  const auto expect_same = [&](const std::string& text, std::size_t broken) {
    std::ofstream(run.journal, std::ios::binary) << text;
    const TuneResult again = search(data(), few(5), run);
    EXPECT_EQ(summary(again), first);
    EXPECT_THAT(again.broken_lines, testing::ElementsAre(broken));
    EXPECT_EQ(std::ranges::count(text_of(run.journal), '\n'), lines + 2);  // that, and the end
  };
  std::string text = whole;
  const std::size_t third = text.find('\n', text.find('\n') + 1) + 1;
  text.replace(third, 12, "xxxxxxxxxxxx");
  expect_same(text, 3);
  text = whole;
  const std::string field = "\"best_iteration\":";
  text.replace(text.find(field), field.size() + 1, field + "-1");  // of the baseline
  expect_same(text, 2);
  // What no training comes to: shares beyond 1, iterations of what has none or more than asked for.
  const auto with = [&](const std::string& in, const std::string& name, const std::string& value) {
    std::string changed = whole;
    const std::size_t result = changed.find("\"value\":", changed.find(in));
    const std::size_t from = changed.find(name, result) + name.size();
    changed.replace(from, changed.find_first_of(",}", from) - from, value);
    return changed;
  };
  const auto line_of = [&](const std::string& in) {
    const std::string before = whole.substr(0, whole.find(in));
    return static_cast<std::size_t>(std::ranges::count(before, '\n')) + 1;
  };
  const std::string als = "\"algorithm\":\"als\"";
  const std::string knn = "\"algorithm\":\"item-knn\"";
  expect_same(with(knn, "\"value\":", "7.5"), line_of(knn));
  expect_same(with(knn, "\"value\":", "-0.5"), line_of(knn));
  expect_same(with(knn, "\"iterations\":", "5"), line_of(knn));
  expect_same(with(knn, "\"seconds\":", "1e300"), line_of(knn));
  expect_same(with(als, "\"iterations\":", "900"), line_of(als));
}

TEST(Tune, OneSearchAtATimeWritesAJournal) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  std::string refused;
  run.on_trial = [&](const TuneProgress&) {
    if (!refused.empty()) return;
    TuneRun other;
    other.journal = run.journal;
    other.resume = true;
    refused = test::error_of(ErrorKind::kIo, [&] { (void)search(data(), few(4), other); });
    EXPECT_EQ(test::error_of(ErrorKind::kIo, [&] { check_journal(run.journal, true); }), refused);
  };
  EXPECT_TRUE(search(data(), few(4), run).model);
  EXPECT_THAT(refused, HasSubstr("another search is writing this journal"));
  run.on_trial = {};
  run.resume = true;
  EXPECT_TRUE(search(data(), few(4), run).model);  // when it is over another one may
}

/// Ratings that are too large for the algorithms by factors.
Interactions large_ratings() {
  Interactions made = generate(parse_shape("60x30x900"), 5);
  for (float& value : made.by_user.values) value = 2e9F + 1e8F * value;
  return made;
}

TuneOptions ratings(int trials, std::vector<std::string> algorithms) {
  TuneOptions options = few(trials, std::move(algorithms));
  options.feedback = Feedback::kExplicit;
  return options;
}

TEST(Tune, ARefusalOfTheDataIsATrialWithoutAValue) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  const Interactions large = large_ratings();
  const TuneOptions options = ratings(6, {"als", "item-knn", "sgd"});
  const TuneResult result = search(large, options, run);
  ASSERT_TRUE(result.model);
  EXPECT_EQ(result.model->algorithm(), "item-knn");
  ASSERT_EQ(result.trials.size(), 6U);
  for (const TuneTrial& trial : result.trials) {
    EXPECT_EQ(trial.value.has_value(), algorithm_name(trial.params) == "item-knn");
    EXPECT_EQ(trial.failure.empty(), trial.value.has_value());
  }
  // The defaults tell: others of the algorithm are not tried.
  EXPECT_THAT(result.failures(),
              testing::ElementsAre(HasSubstr("sgd: the value 25"), HasSubstr("als: the value 25")));
  run.resume = true;
  run.on_trial = {};
  EXPECT_EQ(summary(search(large, options, run)), summary(result));
}

TEST(Tune, WhereAllAlgorithmsRefuseOneErrorTellsAndTheJournalIsInNobodysWay) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.journal = folder / "journal";
  const auto refused = [&] {
    return test::error_of(ErrorKind::kNumerical, [&] {
      (void)search(large_ratings(), ratings(6, {"als", "sgd"}), run);
    });
  };
  const std::string why = refused();
  EXPECT_THAT(why, HasSubstr("no algorithm has a value: sgd: the value 25"));
  EXPECT_THAT(why, HasSubstr("; als: the value 25"));
  EXPECT_EQ(refused(), why);
}

/// Finds no end unless it is stopped; counts what it does after that.
struct Endless {
  StillClock clock;
  std::atomic<int> running = 0;
  std::atomic<int> late = 0;

  /// It takes as long as somebody looks: a watch that comes late misses nothing.
  std::chrono::steady_clock::time_point now() {
    if (running > 0) clock.move_on(50);
    return clock.now();
  }
};
struct Running {
  explicit Running(std::atomic<int>& count) : count_(count) { ++count_; }
  ~Running() { --count_; }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  std::atomic<int>& count_;
};
class EndlessSearch final : public KnnSearch {
 public:
  explicit EndlessSearch(Endless& state) : state_(state) {}
  KnnLists find_part(const SearchPart&, Index, const RunControl& control) const override {
    const Running running(state_.running);
    for (int looks = 0; looks < 20'000; ++looks) {
      control.check();
      state_.late += control.cancel->load() ? 1 : 0;
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    }
    ADD_FAILURE() << "nobody stopped it";
    return {};
  }
  void similarities(const WeightedRows&, float*) const override {}

 private:
  Endless& state_;
};
class EndlessKnn final : public KnnJob {
 public:
  explicit EndlessKnn(Endless& state) : state_(state) {}
  std::unique_ptr<KnnSearch> make_search(const SimilarityProblem&) const override {
    return std::make_unique<EndlessSearch>(state_);
  }

 private:
  Endless& state_;
};
TuneRun endless_run(Endless& state) {
  TuneRun run;
  run.open = [&](const TrainingParams&, std::span<const Job>) {
    JobTable table = open_device("cpu").jobs().table;
    std::get<Offer<KnnJob>>(table).job = std::make_shared<EndlessKnn>(state);
    return make_device(
        "cpu", [] { return std::string(); }, std::move(table));
  };
  return run;
}

TEST(Tune, ATrainingThatIsTooLongForTheBudgetIsBrokenOff) {
  Endless state;
  TuneRun run = endless_run(state);
  run.now = [&] { return state.now(); };
  TuneOptions options = few(1, {"item-knn", "als", "user-knn"});
  options.budget = parse_budget("3s");
  run.on_trial = [&](const TuneProgress&) { state.clock.move_on(100); };  // what an als takes
  const TuneResult result = tune(data(), options, run);
  ASSERT_TRUE(result.model);
  EXPECT_EQ(result.model->algorithm(), "als");
  EXPECT_EQ(algorithm_name(result.trials.front().params), "als");  // what auto would take
  EXPECT_LE(state.late, 4);                                        // each looks once per block
  EXPECT_THAT(result.failures(),
              testing::UnorderedElementsAre(HasSubstr("item-knn: nothing was measured in the time "
                                                      "that the budget left"),
                                            HasSubstr("user-knn: nothing was measured in the time "
                                                      "that the budget left")));
  options.algorithms = {"item-knn"};
  options.budget = parse_budget("0.3s");
  EXPECT_THAT(test::error_of(ErrorKind::kNumerical, [&] { (void)tune(data(), options, run); }),
              HasSubstr("no algorithm has a value: item-knn: nothing was measured"));
}

class RefusingKnn final : public KnnJob {
 public:
  std::unique_ptr<KnnSearch> make_search(const SimilarityProblem&) const override {
    throw Error(ErrorKind::kNumerical, "take fewer " + mention("neighbours"));
  }
};

TEST(Tune, WhyATrainingFailedIsSpelledByWhoTellsIt) {
  const test::TemporaryFolder folder;
  TuneRun run;
  run.open = [&](const TrainingParams&, std::span<const Job>) {
    JobTable table = open_device("cpu").jobs().table;
    std::get<Offer<KnnJob>>(table).job = std::make_shared<RefusingKnn>();
    return make_device(
        "cpu", [] { return std::string(); }, std::move(table));
  };
  run.journal = folder / "journal";
  const TuneOptions options = few(2, {"als", "item-knn"});
  const TuneResult result = tune(data(), options, run);
  const auto as_option = [](std::string_view parameter, std::string_view) {
    return "--" + std::string(parameter);
  };
  ASSERT_EQ(result.failures().size(), 1U);
  EXPECT_EQ(spelled(result.failures()[0], as_option), "item-knn: take fewer --neighbours");
  run.resume = true;  // the journal keeps it so
  EXPECT_EQ(tune(data(), options, run).failures(), result.failures());
}

TEST(Tune, CancellingBreaksOffATrainingWithoutIterations) {
  Endless state;
  std::atomic<bool> stop = false;
  TuneRun run = endless_run(state);
  run.control.cancel = &stop;
  run.on_trial = [&](const TuneProgress&) {};
  std::thread later([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    stop = true;
  });
  const TuneResult result = tune(data(), few(4, {"item-knn"}), run);
  later.join();
  EXPECT_EQ(result.stop_reason, "stopped");
  EXPECT_LE(state.late, 1);
}

bool same_entries(const Interactions& a, const Interactions& b) {
  return std::ranges::equal(a.by_user.offsets.span(), b.by_user.offsets.span()) &&
         std::ranges::equal(a.by_user.columns.span(), b.by_user.columns.span());
}

TEST(Tune, ASampleOfUsersIsTheSameForTheSameSeed) {
  const Interactions some = sample_users(data(), 50, 7);
  EXPECT_EQ(users_with_entries(some.by_user.view()), 50);
  EXPECT_EQ(some.by_user.rows, data().by_user.rows);
  EXPECT_EQ(some.users.size(), data().users.size());
  for (Index user = 0; user < some.by_user.rows; ++user) {
    const auto whole = data().by_user.view().row_columns(user);
    const auto kept = some.by_user.view().row_columns(user);
    EXPECT_TRUE(kept.empty() || std::ranges::equal(kept, whole));
  }
  EXPECT_TRUE(same_entries(some, sample_users(data(), 50, 7)));
  EXPECT_FALSE(same_entries(some, sample_users(data(), 50, 8)));
  EXPECT_EQ(sample_users(data(), 1000, 7).by_user.nnz(), data().by_user.nnz());
}

TEST(Tune, UsersAreSampledWhereListsWouldTakeLongerThanTraining) {
  const TrainingParams als = default_params("als", Feedback::kImplicit);  // 64 factors
  EXPECT_EQ(users_to_validate(data().by_user.view(), 200, als), 200);
  // 4 (20e6 64^2 + 165e3 64^3 / 6) / (27e3 64) = 206e3
  const auto shape = [](Index users, Index items, Offset entries, std::vector<Offset>& offsets) {
    offsets.assign(static_cast<std::size_t>(users) + 1, 0);
    offsets.back() = entries;
    return CsrView{users, items, offsets.data(), nullptr, nullptr};
  };
  std::vector<Offset> offsets;
  EXPECT_EQ(users_to_validate(shape(138'000, 27'000, 20'000'000, offsets), 138'000, als), 138'000);
  // 4 (17e6 64^2 + 520e3 64^3 / 6) / (160e3 64) = 36e3
  EXPECT_NEAR(users_to_validate(shape(360'000, 160'000, 17'000'000, offsets), 360'000, als), 36'000,
              1000);
  EXPECT_EQ(users_to_validate(shape(50'000, 2'000'000, 100'000, offsets), 50'000, als),
            kFewestSampled);
}

/// A search whose time is over just when the winner's training begins.
TuneResult late_search(const std::string& algorithm) {
  TuneOptions options = few(1, {algorithm});
  options.budget = parse_budget("0.3s");
  StillClock clock;
  TuneRun run;
  run.now = [&] { return clock.now(); };
  run.on_trial = [&](const TuneProgress&) { clock.move_on(20); };
  run.on_winner = [&](const TuneResult&) { clock.move_on(1500); };
  return search(data(), options, run);
}

TEST(Tune, AModelIsThereWhereTheTimeIsOverBeforeTheWinnerIsTrained) {
  for (const char* algorithm : {"als", "item-knn"}) {
    const TuneResult result = late_search(algorithm);
    ASSERT_TRUE(result.model) << algorithm;
    EXPECT_EQ(result.stop_reason, "budget");
    EXPECT_FALSE(result.on_everything);
    EXPECT_LT(result.model->history.nnz(), data().by_user.nnz());
    EXPECT_THAT(result.warning(),
                HasSubstr(fmt::format("over while the best was trained on everything: the model is "
                                      "that of trial {}, which has not seen the",
                                      result.model_trial)));
    const TuneTrial trial = result.winner();
    EXPECT_EQ(trial.value, result.model->best_validation());
    result.model->validate();
    SplitOptions how = validation_split();
    how.seed = 3;
    const Interactions part = std::move(split(data(), how).front().train);
    const Model again = train(part, result.model->params, open_device("cpu"), {});
    if (again.factors() != nullptr) {
      EXPECT_TRUE(std::ranges::equal(again.factors()->users.row_span(5),
                                     result.model->factors()->users.row_span(5)));
    }
  }
}

/// 40 users of 2 items and 10 of 30.
Interactions mostly_short() {
  std::vector<test::Entry> entries;
  for (Index user = 0; user < 50; ++user) {
    for (Index item = 0; item < (user < 40 ? 2 : 30); ++item) {
      entries.push_back({user, (user + item) % 40, 1.0F});
    }
  }
  return test::part_of(entries, 0, entries.size());
}

TEST(Tune, OfShortHistoriesNoMoreThanTheShareIsHeldOut) {
  const Interactions all = mostly_short();  // 380, of which 40 + 60 would be a fifth of each
  const Split parts = next_part(all, nullptr, validation_split(), 1, 0);
  const double held_out = static_cast<double>(parts.test.by_user.nnz());
  EXPECT_NEAR(held_out / 380.0, 0.2, 0.05);
  EXPECT_EQ(parts.train.by_user.nnz() + parts.test.by_user.nnz(), 380);
  Index whole = 0;
  for (Index user = 0; user < 40; ++user) whole += parts.train.by_user.view().row_size(user) == 2;
  EXPECT_GT(whole, 0);
  EXPECT_LT(whole, 40);
  SplitOptions rows = validation_split();
  rows.rows = 1;
  EXPECT_EQ(next_part(all, nullptr, rows, 1, 0).test.by_user.nnz(), 50) << "so many were asked for";
}

TEST(Tune, ABudgetOfTimeEnds) {
  TuneOptions options = few(1, {"item-knn"});
  options.budget = parse_budget("1s");
  StillClock clock;
  TuneRun run;
  run.now = [&] {
    clock.move_on(1);
    return clock.now();
  };
  const TuneResult result = search(data(), options, run);
  EXPECT_GE(result.seconds, 0.8);  // the final round ends where another part would not fit
  EXPECT_EQ(result.stop_reason, "budget");
  EXPECT_TRUE(result.model);
}

TEST(Tune, ABudgetThatIsOverBeforeTheFirstTrialIsRefused) {
  TuneOptions options = few(1);
  options.budget = parse_budget("0.0000001s");
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, [&] { (void)search(data(), options); }),
              HasSubstr("budget 0.0000001s was over before the first trial began"));
}

TEST(Tune, OfAllAlgorithmsThoseAreLeftOutThatTheDeviceDoesNotTrain) {
  const auto no_bpr = [](const TrainingParams& params, std::span<const Job>) {
    if (algorithm_name(params) == "bpr") throw Error(ErrorKind::kInvalidArgument, "not here");
    return open_device("cpu");
  };
  const TrainedAlgorithms found = trained_algorithms(Feedback::kImplicit, no_bpr);
  EXPECT_THAT(found.algorithms,
              testing::ElementsAre("als", "item-knn", "user-knn", "ease", "spectral"));
  EXPECT_THAT(found.left_out, testing::ElementsAre("bpr: not here"));
  const auto none = [](const TrainingParams& params, std::span<const Job>) -> Device {
    throw Error(ErrorKind::kDevice, std::string(algorithm_name(params)));
  };
  EXPECT_EQ(test::error_of(ErrorKind::kDevice,
                           [&] { (void)trained_algorithms(Feedback::kExplicit, none); }),
            tuned_algorithms(Feedback::kExplicit).front());
}

TEST(Tune, OfASearchWithFeaturesThoseWithoutFactorsAreLeftOut) {
  const auto any = [](const TrainingParams&, std::span<const Job>) { return open_device("cpu"); };
  const TrainedAlgorithms found = trained_algorithms(Feedback::kImplicit, any, true);
  EXPECT_THAT(found.algorithms, testing::ElementsAre("als", "bpr", "spectral"));
  EXPECT_THAT(
      found.left_out,
      testing::ElementsAre("item-knn, user-knn, ease: without factors, which features are about"));
  TuneOptions options = few(3, {});
  options.has_features = true;
  EXPECT_NO_THROW(options.validate());  // of six algorithms three are searched
  options.algorithms = {"als", "item-knn"};
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument, [&] { options.validate(); }),
              HasSubstr("item-knn has none"));
}

/// Of every item of data(), and of one that nobody has touched.
FeatureTables some_features(const std::string& tag = "one") {
  std::string text = "id,tag\nfresh," + tag + "\n";
  for (Index item = 0; item < data().items.size(); ++item) {
    text += data().items.name(item) + (item % 2 == 0 ? "," + tag + "\n" : ",two\n");
  }
  FeatureTables tables;
  tables.items = features_from_text(text, "f.csv", Side::kItems);
  return tables;
}

TEST(Tune, TheWinnersModelLearnsFeatures) {
  const FeatureTables tables = some_features();
  TuneRun run;
  run.features = &tables;
  TuneOptions options = few(3, {"als"});
  const TuneResult plain = search(data(), options);
  options.has_features = true;
  const TuneResult result = search(data(), options, run);
  EXPECT_EQ(summary(result), summary(plain));  // trials are without
  EXPECT_EQ(plain.model->items.size() + 1, result.model->items.size());
  ASSERT_TRUE(result.features.items);
  EXPECT_EQ(result.features.items->cold, 1);
  EXPECT_FALSE(result.features.users);
  EXPECT_TRUE(plain.model->item_features.empty());
  Model added = train(prepare(request_of(result.for_everything), data()), data());
  (void)add_features(added, tables);
  const Matrix& factors = result.model->factors()->items;
  for (Index item = 0; item < added.items.size(); ++item) {
    EXPECT_TRUE(std::ranges::equal(added.factors()->items.row_span(item), factors.row_span(item)));
  }
}

TEST(Tune, FeaturesAreCheckedBeforeTheSearch) {
  const test::TemporaryFolder folder;
  FeatureTables tables;
  tables.items = features_from_text("id,tag\nx,a\ny,a\n", "f.csv", Side::kItems);
  TuneRun run;
  run.features = &tables;
  run.journal = folder / "journal";
  TuneOptions options = few(1, {"als"});
  EXPECT_THAT(
      test::error_of(ErrorKind::kInvalidArgument, [&] { (void)search(data(), options, run); }),
      HasSubstr("whether there are features"));
  options.has_features = true;
  EXPECT_THAT(test::error_of(ErrorKind::kBadData, [&] { (void)search(data(), options, run); }),
              HasSubstr("none of the 2 ids"));
  EXPECT_FALSE(std::filesystem::exists(run.journal));
}

TEST(Tune, AJournalWithOtherFeaturesIsRefused) {
  const test::TemporaryFolder folder;
  FeatureTables tables = some_features();
  TuneRun run;
  run.features = &tables;
  run.journal = folder / "journal";
  TuneOptions options = few(1, {"als"});
  options.has_features = true;
  (void)search(data(), options, run);
  run.resume = true;
  EXPECT_NO_THROW((void)search(data(), options, run));
  const auto refused = [&](const TuneOptions& asked) {
    return test::error_of(ErrorKind::kInvalidArgument, [&] { (void)search(data(), asked, run); });
  };
  tables.learning.regularization = 2.0;
  EXPECT_THAT(refused(options), HasSubstr("its features is {"));
  tables = some_features("other");
  EXPECT_THAT(refused(options), HasSubstr("its features is {"));
  run.features = nullptr;
  EXPECT_THAT(refused(few(1, {"als"})), HasSubstr("not \"none\""));
}

TEST(Tune, ImportanceFindsTheParameterThatMatters) {
  TuneResult result;
  result.metric = parse_metric("ndcg@10");
  result.usual = {default_params("item-knn", Feedback::kImplicit)};
  for (int i = 0; i < 24; ++i) {
    TuneTrial trial;
    KnnParams params = KnnParams::defaults(Feedback::kImplicit);
    params.neighbours = 5 + (i * 7) % 24;
    params.similarity = i % 2 == 0 ? Similarity::kCosine : Similarity::kJaccard;
    trial.params = params;
    trial.value = 0.01 * params.neighbours;
    result.trials.push_back(trial);
  }
  const std::vector<ParameterImportance> all = result.importance();
  ASSERT_FALSE(all.empty());
  EXPECT_EQ(all.front().parameter, "neighbours");
  // Quarters of ranks 0 to 23: 1 - (n - 1)/(n - g) S_within/S_total = 1 - 23/20 * 70/1150.
  EXPECT_NEAR(all.front().share, 1.0 - 23.0 / 20.0 * 70.0 / 1150.0, 1e-12);
  EXPECT_EQ(all.back().share, 0.0);
  result.trials.resize(7);
  EXPECT_TRUE(result.importance().empty());
}

}  // namespace
}  // namespace likewise
