// SPDX-License-Identifier: Apache-2.0
// evaluate() against a plain second computation: every score, one full sort per user.
#include <algorithm>
#include <cmath>
#include <fstream>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "algorithms/bias/bias.h"
#include "algorithms/iteration_run.h"
#include "algorithms/popular/popular.h"
#include "data/select.h"
#include "evaluation/metric_table.h"
#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/popular.h"
#include "likewise/read.h"
#include "likewise/recommender.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"
#include "training/validation.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

/// How many metrics have a value for every list length.
std::size_t of_lists() {
  return static_cast<std::size_t>(std::ranges::count_if(all_metrics(), [](const MetricInfo& one) {
    return one.kind == MetricKind::kList || one.kind == MetricKind::kCoverage;
  }));
}

/// Whole numbers as factors: scores are exact on every device, and many of them are ties.
Matrix whole_number_factors(Index rows, Index cols, std::uint64_t seed) {
  std::mt19937_64 random(seed);
  std::uniform_int_distribution<int> value(-2, 2);
  Matrix m(rows, cols);
  for (Index r = 0; r < rows; ++r) {
    for (float& x : m.row_span(r)) x = static_cast<float>(value(random));
  }
  return m;
}

std::shared_ptr<Model> make_model(Index users, Index items, Index factors, Feedback feedback,
                                  double history_per_user) {
  auto model = std::make_shared<Model>();
  model->params = AlsParams{.feedback = feedback, .factors = factors};
  model->users = IdMap::range(users);
  model->items = IdMap::range(items);
  test::factors_of(*model).users = whole_number_factors(users, factors, 1);
  test::factors_of(*model).items = whole_number_factors(items, factors, 2);
  model->history = test::random_csr(users, items, history_per_user, 3);
  return model;
}

TestSet test_of(CsrMatrix by_user) {
  TestSet test;
  test.by_user = std::move(by_user);
  return test;
}

float score(const Model& model, Index user, Index item) {
  const auto x = test::factors_of(model).users.row_span(user);
  const auto y = test::factors_of(model).items.row_span(item);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0F);
}

bool contains(std::span<const Index> row, Index item) {
  return std::find(row.begin(), row.end(), item) != row.end();
}

/// One user's unseen items in order, and how many are relevant.
struct Ranking {
  std::vector<Index> items;
  std::vector<bool> relevant;
  std::vector<float> scores;
  Offset relevant_count = 0;
};

Ranking rank_by_hand(const Model& model, const CsrView& seen, const CsrView& test, Index user) {
  Ranking ranking;
  for (Index item = 0; item < seen.cols; ++item) {
    if (!contains(seen.row_columns(user), item)) ranking.items.push_back(item);
  }
  std::stable_sort(ranking.items.begin(), ranking.items.end(),
                   [&](Index a, Index b) { return score(model, user, a) > score(model, user, b); });
  for (const Index item : ranking.items) {
    ranking.relevant.push_back(contains(test.row_columns(user), item));
    ranking.scores.push_back(score(model, user, item));
    ranking.relevant_count += ranking.relevant.back() ? 1 : 0;
  }
  return ranking;
}

double ndcg_by_hand(const Ranking& ranking, std::size_t k) {
  double gain = 0.0;
  double ideal = 0.0;
  for (std::size_t i = 0; i < k; ++i) {
    const double discount = std::log(2.0) / std::log(static_cast<double>(i) + 2.0);
    if (i < ranking.items.size() && ranking.relevant[i]) gain += discount;
    if (static_cast<Offset>(i) < ranking.relevant_count) ideal += discount;
  }
  return gain / ideal;
}

double auc_by_hand(const Ranking& ranking) {
  double won = 0.0;
  double pairs = 0.0;
  for (std::size_t i = 0; i < ranking.items.size(); ++i) {
    for (std::size_t j = 0; j < ranking.items.size(); ++j) {
      if (!ranking.relevant[i] || ranking.relevant[j]) continue;
      pairs += 1.0;
      if (ranking.scores[i] > ranking.scores[j]) won += 1.0;
      if (ranking.scores[i] == ranking.scores[j]) won += 0.5;
    }
  }
  return pairs == 0.0 ? 0.5 : won / pairs;
}

/// What went wrong, as kind and message.
template <class Work>
Error error_of(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    return error;
  }
  ADD_FAILURE() << "nothing was thrown";
  return {ErrorKind::kIo, ""};
}

class Evaluate : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static Recommender open(const std::shared_ptr<const Model>& model) {
    return {model, open_device(GetParam())};
  }
};

TEST_P(Evaluate, EqualsAFullSortOfEveryUser) {
  const auto model = make_model(70, 33, 5, Feedback::kImplicit, 8.0);
  const TestSet test = test_of(test::random_csr(70, 33, 4.0, 4));
  EvaluateOptions options;
  options.k = {1, 7, 100};
  options.metrics = {"ndcg", "auc", "recall"};
  options.per_user = true;
  const EvaluationReport report = evaluate(open(model), test, options);
  ASSERT_GT(report.users_evaluated, 50);
  ASSERT_EQ(report.users.size(), static_cast<std::size_t>(report.users_evaluated));
  Offset relevant = 0;
  for (std::size_t u = 0; u < report.users.size(); ++u) {
    const Ranking ranking =
        rank_by_hand(*model, model->history.view(), test.by_user.view(), report.users[u]);
    relevant += ranking.relevant_count;
    for (const Index k : options.k) {
      const std::string key = "ndcg@" + std::to_string(k);
      EXPECT_NEAR(report.per_user.at(key)[u], ndcg_by_hand(ranking, static_cast<std::size_t>(k)),
                  1e-6);
    }
    EXPECT_NEAR(report.per_user.at("auc")[u], auc_by_hand(ranking), 1e-6);
    EXPECT_EQ(report.per_user.at("recall@100")[u], 1.0F);  // the list holds everything unseen
  }
  EXPECT_EQ(report.relevant_items, relevant);
  EXPECT_EQ(report.relevant_items + report.relevant_seen, test.by_user.nnz());
  EXPECT_GT(report.relevant_seen, 0);
}

TEST_P(Evaluate, SeenTakesThePlaceOfTheHistory) {
  const auto model = make_model(40, 21, 3, Feedback::kExplicit, 5.0);
  const TestSet test = test_of(test::random_csr(40, 21, 3.0, 4));
  EvaluateOptions options;
  options.metrics = metric_names();
  const Recommender recommender = open(model);
  const EvaluationReport by_history = evaluate(recommender, test, options);
  EXPECT_EQ(evaluate(recommender, test, options, model->history.view()).metrics,
            by_history.metrics);
  const CsrMatrix nothing = make_csr(40, 21, {});
  const EvaluationReport all = evaluate(recommender, test, options, nothing.view());
  EXPECT_EQ(all.relevant_seen, 0);
  EXPECT_EQ(all.users_without_history, all.users_evaluated);
  EXPECT_NE(all.metrics, by_history.metrics);
}

TEST_P(Evaluate, UsersWithoutAHistoryMayBeLeftOutOfLists) {
  const auto model = make_model(40, 21, 3, Feedback::kExplicit, 5.0);
  const TestSet test = test_of(test::random_csr(40, 21, 3.0, 4));
  std::vector<test::Entry> some;
  for (Index user = 0; user < 40; user += 2) some.push_back({user, 0, 1.0F});
  const CsrMatrix seen = make_csr(40, 21, some);
  EvaluateOptions options;
  options.metrics = {"ndcg", "rmse"};
  options.per_user = true;
  const Recommender recommender = open(model);
  const EvaluationReport all = evaluate(recommender, test, options, seen.view());
  EXPECT_GT(all.users_without_history, 0);
  options.with_history = true;
  const EvaluationReport known = evaluate(recommender, test, options, seen.view());
  EXPECT_EQ(known.users_without_history, all.users_without_history);
  EXPECT_EQ(known.users_evaluated + known.users_without_history, all.users_evaluated);
  EXPECT_EQ(known.metrics.at("rmse"), all.metrics.at("rmse"));
  double sum = 0.0;
  for (std::size_t u = 0; u < all.users.size(); ++u) {
    if (all.users[u] % 2 == 0) sum += all.per_user.at("ndcg@10")[u];
  }
  EXPECT_NEAR(known.metrics.at("ndcg@10"), sum / known.users_evaluated, 1e-6);
  EXPECT_THAT(advice_on_history(*model, all), testing::HasSubstr("ranked have no history"));
  EvaluationReport few = all;
  few.users_without_history = few.users_evaluated / 11;
  EXPECT_EQ(advice_on_history(*model, few), "");
  const CsrMatrix nothing = make_csr(40, 21, {});
  EXPECT_THAT(test::error_of(ErrorKind::kBadData,
                             [&] { (void)evaluate(recommender, test, options, nothing.view()); }),
              testing::HasSubstr("none has a history in the training part"));
}

TEST_P(Evaluate, DoesNotDependOnThreads) {
  const auto model = make_model(300, 45, 6, Feedback::kExplicit, 8.0);
  const TestSet test = test_of(test::random_csr(300, 45, 5.0, 4));
  EvaluateOptions options;
  options.metrics = metric_names();
  options.k = {3, 10};
  const Recommender recommender = open(model);
  const EvaluationReport one = evaluate(recommender, test, options);
  EXPECT_EQ(one.metrics.size(), of_lists() * 2 + (all_metrics().size() - of_lists()));
  for (const int threads : {1, 2, 5}) {
    with_threads(threads,
                 [&] { EXPECT_EQ(evaluate(recommender, test, options).metrics, one.metrics); });
  }
}

/// More pairs than one thread takes at once, and users without any.
TEST_P(Evaluate, RatingErrorsAreThoseOfEveryPair) {
  const auto model = make_model(4000, 30, 3, Feedback::kExplicit, 2.0);
  TestSet test = test_of(test::random_csr(4000, 30, 12.0, 4));
  test.by_user = select(Interactions{{}, {}, std::move(test.by_user), {}}, [](Index user, Offset) {
                   return user % 7 != 0 && user < 3900;
                 }).by_user;
  ASSERT_GT(test.by_user.nnz(), 2 << 14);
  const Recommender recommender = open(model);
  double squares = 0.0;
  double absolutes = 0.0;
  for (Index user = 0; user < test.by_user.rows; ++user) {
    const CsrView rows = test.by_user.view();
    const std::vector<Index> users(static_cast<std::size_t>(rows.row_size(user)), user);
    const std::vector<float> predicted = recommender.predict(users, rows.row_columns(user));
    for (std::size_t e = 0; e < users.size(); ++e) {
      const double error = double{predicted[e]} - double{rows.row_values(user)[e]};
      squares += error * error;
      absolutes += std::abs(error);
    }
  }
  const auto pairs = static_cast<double>(test.by_user.nnz());
  for (const int threads : {1, 3}) {
    with_threads(threads, [&] {
      const EvaluationReport report = evaluate(recommender, test, {});
      EXPECT_EQ(report.pairs_evaluated, test.by_user.nnz());
      EXPECT_NEAR(report.metrics.at("rmse"), std::sqrt(squares / pairs), 1e-12);
      EXPECT_NEAR(report.metrics.at("mae"), absolutes / pairs, 1e-12);
    });
  }
}

TEST_P(Evaluate, RatingsSeeUnknownUsersAndItems) {
  auto model = make_model(2, 2, 1, Feedback::kExplicit, 0.0);
  test::factors_of(*model).users.row(0)[0] = 2.0F;
  test::factors_of(*model).items.row(1)[0] = 0.5F;
  test::factors_of(*model).global_mean = 3.0F;
  test::factors_of(*model).user_bias = Array<float>::copy_of(std::vector<float>{0.5F, -0.5F});
  test::factors_of(*model).item_bias = Array<float>::copy_of(std::vector<float>{0.25F, -1.0F});
  const std::vector<Entry> known{{0, 1, 5.0F}};  // 3 + 0.5 - 1 + 2 * 0.5 = 3.5
  TestSet test = test_of(make_csr(2, 2, known));
  test.fallback_users = {1, -1, -1};  // 2.5, 3.25, 3
  test.fallback_items = {-1, 0, -1};
  test.fallback_values = {2.0F, 3.25F, 4.0F};
  const EvaluationReport report = evaluate(open(model), test, {});
  EXPECT_EQ(report.pairs_evaluated, 4);
  ASSERT_EQ(report.metrics.size(), 2U);
  EXPECT_NEAR(report.metrics.at("rmse"), std::sqrt((2.25 + 0.25 + 0.0 + 1.0) / 4), 1e-7);
  EXPECT_NEAR(report.metrics.at("mae"), (1.5 + 0.5 + 0.0 + 1.0) / 4, 1e-7);
}

TEST_P(Evaluate, PopularityBaselineRanksByShare) {
  auto model = std::make_shared<Model>();
  model->params = PopularParams{};
  model->users = IdMap::range(60);
  model->items = IdMap::range(25);
  model->history = test::random_csr(60, 25, 6.0, 5);
  model->learned = train_popular(model->history.view(), {});
  const TestSet test = test_of(test::random_csr(60, 25, 3.0, 6));
  EvaluateOptions options;
  options.k = {25};
  options.min_relevant_value = 3.0F;
  const EvaluationReport report = evaluate(open(model), test, options);
  EXPECT_EQ(report.metrics.count("auc"), 0U);
  EXPECT_EQ(report.metrics.size(), of_lists());
  EXPECT_EQ(report.metrics.at("coverage@25"), 1.0);
  EXPECT_EQ(report.metrics.at("recall@25"), 1.0);
  EXPECT_LT(report.relevant_items + report.relevant_seen, test.by_user.nnz());
}

TEST_P(Evaluate, PopularityOnMovieLensEqualsTheOutsideValues) {
  const auto data = test::data_folder();
  LIKEWISE_NEEDS_DATA(data);
  const auto read = [&](const char* name) {
    return read_interactions((data / "ml-100k" / name).string());
  };
  Interactions train = read("u1.base.gz");
  auto model = std::make_shared<Model>();
  model->params = PopularParams{};
  model->users = train.users.clone();
  model->items = train.items.clone();
  model->history = std::move(train.by_user);
  model->learned = train_popular(model->history.view(), {});

  const auto golden =
      nlohmann::json::parse(std::ifstream("tests/golden/metrics.json")).at("ml_100k_u1_popularity");
  EvaluateOptions options;
  options.k = golden.at("k").get<std::vector<Index>>();
  options.min_relevant_value = golden.at("min_relevant_value");
  for (const std::string& name : metric_names()) {
    if (name != "rmse" && name != "mae") options.metrics.push_back(name);
  }
  const TestSet test = make_test_set(*model, read("u1.test.gz"));
  const EvaluationReport report = evaluate(open(model), test, options);
  EXPECT_EQ(report.users_evaluated, golden.at("users").get<Index>());
  for (const auto& [key, expected] : golden.at("means").items()) {
    // Shares of users are kept in float32.
    const double tolerance = key.starts_with("popularity") ? 1e-7 : 1e-12;
    EXPECT_NEAR(report.metrics.at(key), expected.get<double>(), tolerance) << key;
  }
}

TEST_P(Evaluate, FaultsAreNamed) {
  const auto model = make_model(9, 7, 2, Feedback::kImplicit, 2.0);
  const Recommender recommender = open(model);
  const TestSet test = test_of(test::random_csr(9, 7, 3.0, 4));
  const auto run = [&](const EvaluateOptions& options, const TestSet& set,
                       const CsrView& seen = {}) {
    return error_of([&] { (void)evaluate(recommender, set, options, seen); });
  };
  EvaluateOptions unknown;
  unknown.metrics = {"speed"};
  EXPECT_EQ(run(unknown, test).kind(), ErrorKind::kInvalidArgument);

  const Error shape = run({}, test_of(test::random_csr(9, 8, 3.0)));
  EXPECT_EQ(shape.kind(), ErrorKind::kInvalidArgument);
  EXPECT_NE(std::string(shape.what()).find("9 x 8"), std::string::npos);
  EXPECT_EQ(run({}, test, test::random_csr(3, 7, 1.0).view()).kind(), ErrorKind::kInvalidArgument);

  EvaluateOptions strict;
  strict.min_relevant_value = 6.0F;
  const Error nobody = run(strict, test);
  EXPECT_EQ(nobody.kind(), ErrorKind::kBadData);
  EXPECT_NE(std::string(nobody.what()).find("below 6"), std::string::npos);

  EXPECT_EQ(error_of([&] {
              (void)evaluate(open(make_model(9, 7, 2, Feedback::kExplicit, 2.0)),
                             test_of(make_csr(9, 7, {})), {});
            }).kind(),
            ErrorKind::kBadData)
      << "nothing to predict";

  const std::atomic<bool> stop{true};
  const Error cancelled = error_of([&] { (void)evaluate(recommender, test, {}, {}, {&stop, {}}); });
  EXPECT_EQ(cancelled.kind(), ErrorKind::kCancelled);
}

TEST_P(Evaluate, AModelWithoutHistoryNeedsSeenForPopularity) {
  auto model = make_model(6, 9, 2, Feedback::kImplicit, 2.0);
  const CsrMatrix history = model->history.clone();
  model->history = CsrMatrix{};
  const Recommender recommender = open(model);
  const TestSet test = test_of(test::random_csr(6, 9, 4.0, 4));
  EXPECT_EQ(evaluate(recommender, test, {}).metrics.count("popularity@10"), 0U);
  EvaluateOptions options;
  options.metrics = {"popularity"};
  EXPECT_EQ(error_of([&] { (void)evaluate(recommender, test, options); }).kind(),
            ErrorKind::kInvalidArgument);
  EXPECT_GT(evaluate(recommender, test, options, history.view()).metrics.at("popularity@10"), 0.0);
}

/// Of scores that are no ratings there are no errors: not of counts and likes, not of sums over
/// neighbours, not of log-odds.
TEST_P(Evaluate, ModelsThatOnlyRankHaveNoRatingsToCompare) {
  KnnParams sums = KnnParams::defaults(Feedback::kExplicit);
  sums.prediction = Prediction::kSum;
  sums.similarity = Similarity::kCosine;
  for (const TrainingParams& params : std::vector<TrainingParams>{
           AlsParams{.factors = 2}, SgdParams{.factors = 2, .loss = SgdLoss::kLogistic},
           BprParams{.factors = 2}, KnnParams::defaults(Feedback::kImplicit), sums,
           PopularParams{Feedback::kImplicit}, PopularParams{Feedback::kExplicit}}) {
    Interactions data{IdMap::range(6), IdMap::range(9), test::random_csr(6, 9, 4.0, 3), {}};
    data.by_user.values[0] = -1.0F;  // a dislike
    const Device device = open_device(GetParam());
    const Interactions held_out{
        IdMap::range(6), IdMap::range(9), test::random_csr(6, 9, 4.0, 4), {}};
    const auto model = std::make_shared<const Model>(train(data, params, device));
    const Recommender recommender(model, device);
    const TestSet test = make_test_set(*model, held_out);
    for (const char* metric : {"rmse", "mae"}) {
      EvaluateOptions options;
      options.metrics = {"ndcg", metric};
      ResolvedRun run;
      run.validation = &held_out;
      run.validation_metric = metric;
      for (const std::string& why :
           {test::error_of(ErrorKind::kInvalidArgument,
                           [&] { (void)evaluate(recommender, test, options); }),
            test::error_of(ErrorKind::kInvalidArgument,
                           [&] { (void)train(data, params, device, run); })}) {
        EXPECT_THAT(
            why, testing::AllOf(testing::HasSubstr(metric), testing::HasSubstr(model->algorithm()),
                                testing::HasSubstr("a metric that ranks (precision, "),
                                testing::HasSubstr("algorithm bias")));
      }
    }
    EXPECT_EQ(evaluate(recommender, test, {}).metrics.count("ndcg@10"), 1U);
    // Where nobody says by what, a model is validated by what fits.
    ResolvedRun run;
    run.validation = &held_out;
    EXPECT_EQ(train(data, params, device, run).validation_metric, "ndcg@10");
  }
}

/// The errors of a mean by their definition, rows of unknown users and items included.
TEST_P(Evaluate, BaselinesAreMeasuredByTheirErrors) {
  auto model = make_model(6, 9, 2, Feedback::kExplicit, 3.0);
  BiasParams params;
  params.baseline = BiasKind::kGlobalMean;
  model->params = params;
  model->learned = train_biases(model->history.view(), params);
  const double mean{model->biases()->mean};
  TestSet test = test_of(test::random_csr(6, 9, 4.0, 4));
  test.fallback_users = {-1, 2};
  test.fallback_items = {3, -1};
  test.fallback_values = {5.0F, 1.0F};
  double squares = (5.0 - mean) * (5.0 - mean) + (1.0 - mean) * (1.0 - mean);
  for (const float value : test.by_user.values) {
    squares += (double{value} - mean) * (double{value} - mean);
  }
  const EvaluationReport report = evaluate(open(model), test, {});
  EXPECT_EQ(report.metrics.size(), 2U) << "rmse and mae are what is usual";
  EXPECT_NEAR(report.metrics.at("rmse"),
              std::sqrt(squares / static_cast<double>(test.by_user.nnz() + 2)), 1e-6);
}

TEST(Validation, OfFactorsThatNoListCanBeMadeOfSaysThatTrainingDiverged) {
  const auto model = make_model(6, 9, 2, Feedback::kImplicit, 3.0);
  Interactions held_out{IdMap::range(6), IdMap::range(9), test::random_csr(6, 9, 4.0, 4), {}};
  ResolvedRun run;
  run.validation = &held_out;
  const Validation validation = make_validation(*model, open_device("cpu"), run);
  Factors factors = test::factors_of(*model).clone();
  EXPECT_NO_THROW((void)validation.evaluate(factors));
  factors.items.row_span(4)[1] = 2e15F;
  EXPECT_EQ(
      test::error_of(ErrorKind::kNumerical, [&] { (void)validation.evaluate(factors); }),
      "training diverged: a factor of item row 4 is 2e+15; take a smaller learning_rate, or a "
      "larger regularization");
}

INSTANTIATE_TEST_SUITE_P(Backends, Evaluate, testing::Values("reference", "cpu"),
                         [](const auto& device) { return std::string(device.param); });

}  // namespace
}  // namespace likewise
