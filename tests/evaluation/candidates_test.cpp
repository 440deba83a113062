// SPDX-License-Identifier: Apache-2.0
// Lists of few items, against a second computation: scores of pairs and a full sort of each list.
#include "evaluation/candidates.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <numeric>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "likewise/bias.h"
#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/error.h"
#include "likewise/popular.h"
#include "likewise/recommender.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/learned.h"
#include "tests/support.h"
#include "training/train.h"

namespace likewise {
namespace {

using test::make_csr;
using testing::HasSubstr;

/// Whole numbers as factors: scores are exact, and many of them are ties.
std::shared_ptr<Model> make_model(Index users, Index items) {
  auto model = std::make_shared<Model>();
  model->params = AlsParams{.factors = 3};
  model->users = IdMap::range(users);
  model->items = IdMap::range(items);
  Factors& factors = test::factors_of(*model);
  factors.users = Matrix(users, 3);
  factors.items = Matrix(items, 3);
  for (Index r = 0; r < users + items; ++r) {
    float* row = r < users ? factors.users.row(r) : factors.items.row(r - users);
    for (int c = 0; c < 3; ++c) row[c] = static_cast<float>((r * 7 + c * 5 + r * c) % 5 - 2);
  }
  model->history = test::random_csr(users, items, 6.0, 3);
  return model;
}

TestSet known_test_set(CsrMatrix by_user) {
  TestSet test;
  test.by_user = std::move(by_user);
  return test;
}

bool has(std::span<const Index> row, Index item) {
  return std::ranges::find(row, item) != row.end();
}

float score_of(const Model& model, Index user, Index item) {
  const auto x = test::factors_of(model).users.row_span(user);
  const auto y = test::factors_of(model).items.row_span(item);
  return std::inner_product(x.begin(), x.end(), y.begin(), 0.0F);
}

/// A list in order.
std::vector<Index> sorted(const Model& model, Index user, std::vector<Index> items) {
  std::ranges::sort(items);
  std::ranges::stable_sort(items, std::ranges::greater{},
                           [&](Index item) { return score_of(model, user, item); });
  return items;
}

struct Values {
  double ndcg = 0.0;
  double hit = 0.0;
  double recall = 0.0;
  double auc = 0.0;
};

/// By their formulas, of a list in order and all that is relevant.
Values values_of(const Model& model, Index user, const std::vector<Index>& list,
                 const std::set<Index>& relevant, std::size_t k) {
  Values values;
  double ideal = 0.0;
  double hits = 0.0;
  for (std::size_t i = 0; i < k; ++i) {
    if (i < relevant.size()) ideal += 1.0 / std::log2(static_cast<double>(i) + 2.0);
    if (i >= list.size() || !relevant.contains(list[i])) continue;
    values.ndcg += 1.0 / std::log2(static_cast<double>(i) + 2.0);
    hits += 1.0;
  }
  values.ndcg /= ideal;
  values.hit = hits > 0.0 ? 1.0 : 0.0;
  values.recall = hits / static_cast<double>(relevant.size());
  double won = 0.0;
  double pairs = 0.0;
  for (const Index i : list) {
    for (const Index j : list) {
      if (!relevant.contains(i) || relevant.contains(j)) continue;
      const float a = score_of(model, user, i);
      const float b = score_of(model, user, j);
      pairs += 1.0;
      won += a > b ? 1.0 : a == b ? 0.5 : 0.0;
    }
  }
  values.auc = pairs == 0.0 ? 0.5 : won / pairs;
  return values;
}

/// What is relevant: in the test and not seen.
std::set<Index> relevant_to(const Model& model, const TestSet& test, Index user) {
  std::set<Index> relevant;
  for (const Index item : test.by_user.view().row_columns(user)) {
    if (!has(model.history.view().row_columns(user), item)) relevant.insert(item);
  }
  return relevant;
}

class FewItems : public testing::TestWithParam<const char*> {
 protected:
  [[nodiscard]] static Recommender open(const std::shared_ptr<const Model>& model) {
    return {model, open_device(GetParam())};
  }
};

EvaluateOptions all_metrics_of() {
  EvaluateOptions options;
  options.k = {2, 5, 100};
  options.metrics = {"ndcg", "hit_rate", "recall", "auc"};
  options.per_user = true;
  return options;
}

void expect_values(const EvaluationReport& report, std::size_t place, const Values& wanted,
                   const std::string& k) {
  EXPECT_NEAR(report.per_user.at("ndcg@" + k)[place], wanted.ndcg, 1e-6);
  EXPECT_NEAR(report.per_user.at("hit_rate@" + k)[place], wanted.hit, 1e-6);
  EXPECT_NEAR(report.per_user.at("recall@" + k)[place], wanted.recall, 1e-6);
  EXPECT_NEAR(report.per_user.at("auc")[place], wanted.auc, 1e-6);
}

TEST_P(FewItems, CandidatesAreRankedAlone) {
  const auto model = make_model(60, 35);
  const TestSet test = known_test_set(test::random_csr(60, 35, 4.0, 4));
  const CsrMatrix candidates = test::random_csr(60, 35, 9.0, 5);
  const CsrView view = candidates.view();
  EvaluateOptions options = all_metrics_of();
  options.candidates = &view;
  const EvaluationReport report = evaluate(open(model), test, options);
  std::size_t place = 0;
  Index without = 0;
  Offset misses = 0;
  double sum = 0.0;
  for (Index user = 0; user < 60; ++user) {
    const std::set<Index> relevant = relevant_to(*model, test, user);
    if (relevant.empty()) continue;
    std::vector<Index> list;
    for (const Index item : view.row_columns(user)) {
      if (!has(model->history.view().row_columns(user), item)) list.push_back(item);
    }
    if (list.empty()) {
      ++without;
      continue;
    }
    list = sorted(*model, user, list);
    for (const Index item : relevant) misses += has(list, item) ? 0 : 1;
    ASSERT_EQ(report.users.at(place), user);
    for (const Index k : options.k) {
      expect_values(report, place,
                    values_of(*model, user, list, relevant, static_cast<std::size_t>(k)),
                    std::to_string(k));
    }
    sum += values_of(*model, user, list, relevant, 5).ndcg;
    ++place;
  }
  EXPECT_EQ(report.users_evaluated, static_cast<Index>(place));
  EXPECT_NEAR(report.metrics.at("ndcg@5"), sum / static_cast<double>(place), 1e-12);
  EXPECT_EQ(report.users_without_candidates, without);
  EXPECT_EQ(report.relevant_no_candidates, misses);
  EXPECT_GT(misses, 0);
}

TEST_P(FewItems, AllItemsAsCandidatesAreNoCandidates) {
  const auto model = make_model(40, 21);
  std::get<AlsParams>(model->params).feedback = Feedback::kExplicit;  // it has all metrics
  const TestSet test = known_test_set(test::random_csr(40, 21, 3.0, 4));
  std::vector<test::Entry> everything;
  for (Index u = 0; u < 40; ++u) {
    for (Index i = 0; i < 21; ++i) everything.push_back({u, i, 1.0F});
  }
  const CsrMatrix all = make_csr(40, 21, everything);
  const CsrView view = all.view();
  EvaluateOptions options;
  options.k = {1, 4, 30};
  for (const std::string& name : metric_names()) options.metrics.push_back(name);
  const Recommender recommender = open(model);
  const EvaluationReport plain = evaluate(recommender, test, options);
  options.candidates = &view;
  EXPECT_EQ(evaluate(recommender, test, options).metrics, plain.metrics);
}

/// As many negatives as there can be: nothing is left to chance.
TEST_P(FewItems, EveryHeldOutItemHasAListOfItsOwn) {
  const auto model = make_model(60, 35);
  const TestSet test = known_test_set(test::random_csr(60, 35, 4.0, 4));
  EvaluateOptions options = all_metrics_of();
  options.negatives = 34;
  const EvaluationReport report = evaluate(open(model), test, options);
  options.negatives = 1'000'000'000;  // more than there are: all
  EXPECT_EQ(evaluate(open(model), test, options).metrics, report.metrics);
  std::size_t place = 0;
  Offset items = 0;
  for (Index user = 0; user < 60; ++user) {
    const std::set<Index> relevant = relevant_to(*model, test, user);
    if (relevant.empty()) continue;
    for (const Index k : options.k) {
      Values mean;
      for (const Index held_out : relevant) {
        std::vector<Index> list{held_out};
        for (Index item = 0; item < 35; ++item) {
          if (!has(model->history.view().row_columns(user), item) &&
              !has(test.by_user.view().row_columns(user), item)) {
            list.push_back(item);
          }
        }
        const Values one = values_of(*model, user, sorted(*model, user, list), {held_out},
                                     static_cast<std::size_t>(k));
        const auto share = 1.0 / static_cast<double>(relevant.size());
        mean.ndcg += share * one.ndcg;
        mean.hit += share * one.hit;
        mean.recall += share * one.recall;
        mean.auc += share * one.auc;
      }
      expect_values(report, place, mean, std::to_string(k));
    }
    items += static_cast<Offset>(relevant.size());
    EXPECT_EQ(report.users.at(place++), user);
  }
  EXPECT_EQ(report.users_evaluated, static_cast<Index>(place));
  EXPECT_EQ(report.relevant_items, items);
}

TEST_P(FewItems, DoNotDependOnThreads) {
  const auto model = make_model(200, 45);
  const TestSet test = known_test_set(test::random_csr(200, 45, 5.0, 4));
  EvaluateOptions options = all_metrics_of();
  options.negatives = 7;
  const Recommender recommender = open(model);
  const auto once = evaluate(recommender, test, options).metrics;
  for (const int threads : {1, 2, 5}) {
    with_threads(threads, [&] { EXPECT_EQ(evaluate(recommender, test, options).metrics, once); });
  }
  options.seed = 43;
  EXPECT_NE(evaluate(recommender, test, options).metrics, once);
}

TEST_P(FewItems, EveryKindOfModelRanksThem) {
  const CsrMatrix ratings = test::random_csr(50, 30, 8.0, 3);
  Interactions data{IdMap::range(50), IdMap::range(30), ratings.clone(), {}};
  const TestSet test = known_test_set(test::random_csr(50, 30, 4.0, 4));
  std::vector<test::Entry> everything;
  for (Index u = 0; u < 50; ++u) {
    for (Index i = 0; i < 30; ++i) everything.push_back({u, i, 1.0F});
  }
  const CsrMatrix all = make_csr(50, 30, everything);
  const CsrView view = all.view();
  const Device device = open_device(GetParam());
  const TrainingParams kinds[] = {PopularParams{Feedback::kImplicit},
                                  PopularParams{Feedback::kExplicit}, BiasParams{}, KnnParams{},
                                  AlsParams{.factors = 4, .iterations = 2}};
  for (const TrainingParams& params : kinds) {
    const auto model = std::make_shared<Model>(train(data, params, device));
    const Recommender recommender(model, device);
    EvaluateOptions options;
    options.metrics = {"ndcg", "recall"};
    const EvaluationReport plain = evaluate(recommender, test, options);
    options.candidates = &view;
    const EvaluationReport few = evaluate(recommender, test, options);
    for (const auto& [key, value] : plain.metrics) {
      // Scores of pairs are rounded once more or less: a tie may be broken otherwise.
      EXPECT_NEAR(few.metrics.at(key), value, 1e-3) << model->algorithm();
    }
  }
  BiasParams mean;
  mean.baseline = BiasKind::kGlobalMean;
  const auto flat = std::make_shared<Model>(train(data, mean, device));
  EvaluateOptions options;
  options.metrics = {"ndcg"};
  options.negatives = 5;
  EXPECT_THAT(test::error_of(ErrorKind::kInvalidArgument,
                             [&] {
                               (void)evaluate({flat, device}, test, options);
                             }),
              HasSubstr("no lists"));
}

TEST_P(FewItems, FaultsAreNamed) {
  const auto model = make_model(9, 7);
  const Recommender recommender = open(model);
  const TestSet test = known_test_set(test::random_csr(9, 7, 3.0, 4));
  const CsrMatrix some = test::random_csr(9, 7, 3.0, 5);
  const CsrView view = some.view();
  const std::vector<std::string> ndcg{"ndcg"};
  const auto refused = [&](EvaluateOptions options, ErrorKind kind = ErrorKind::kInvalidArgument) {
    return test::error_of(kind, [&] { (void)evaluate(recommender, test, options); });
  };
  EXPECT_THAT(refused({.metrics = ndcg, .candidates = &view, .negatives = 2}),
              HasSubstr("exclude each other"));
  EXPECT_THAT(refused({.metrics = ndcg, .negatives = -1}), HasSubstr("negatives is -1"));
  EXPECT_THAT(refused({.metrics = {"rmse"}, .negatives = 2}), HasSubstr("metric that ranks"));
  const CsrMatrix other = make_csr(9, 8, {});
  const CsrView wrong = other.view();
  EXPECT_THAT(refused({.metrics = ndcg, .candidates = &wrong}), HasSubstr("9 x 8"));
  const CsrMatrix none = make_csr(9, 7, {});
  const CsrView empty = none.view();
  EXPECT_THAT(refused({.metrics = ndcg, .candidates = &empty}, ErrorKind::kBadData),
              HasSubstr("nothing to rank"));
  std::vector<test::Entry> beside;
  for (Index u = 0; u < 9; ++u) {
    for (Index i = 0; i < 7; ++i) {
      if (!has(test.by_user.view().row_columns(u), i)) beside.push_back({u, i, 1.0F});
    }
  }
  const CsrMatrix misses = make_csr(9, 7, beside);
  const CsrView hopeless = misses.view();
  EXPECT_THAT(refused({.metrics = ndcg, .candidates = &hopeless}, ErrorKind::kBadData),
              HasSubstr("none of the"));
}

INSTANTIATE_TEST_SUITE_P(Devices, FewItems, testing::Values("reference", "cpu"));

TEST(Negatives, AreDrawnAlikeFromWhatIsLeft) {
  constexpr Index kUsers = 3000;
  const CsrMatrix seen = make_csr(kUsers, 12, [] {
    std::vector<test::Entry> entries;
    for (Index u = 0; u < kUsers; ++u) {
      for (const Index i : {1, 5}) entries.push_back({u, i, 1.0F});
    }
    return entries;
  }());
  const CsrMatrix held_out = make_csr(kUsers, 12, [] {
    std::vector<test::Entry> entries;
    for (Index u = 0; u < kUsers; ++u) {
      for (const Index i : {0, 6, 11}) entries.push_back({u, i, i == 6 ? -1.0F : 1.0F});
    }
    return entries;
  }());
  const CsrView seen_view = seen.view();
  const CsrView test_view = held_out.view();
  EvaluateOptions options;
  options.negatives = 3;
  const CandidateLists lists(find_relevant(test_view, seen_view, 0.0F), test_view, seen_view,
                             options);
  ASSERT_EQ(lists.lists().size(), kUsers * 2);  // 6 is below the threshold, and no negative
  std::vector<int> drawn(12);
  std::set<std::vector<Index>> different;
  for (Offset list = 0; list < lists.lists().size(); ++list) {
    const std::vector<Index> items = lists.items(list);
    const Index own = lists.lists().of(list).front();
    ASSERT_EQ(items.size(), 4U);
    EXPECT_TRUE(std::ranges::is_sorted(items));
    EXPECT_EQ(std::ranges::adjacent_find(items), items.end());
    EXPECT_TRUE(has(items, own));
    for (const Index item : items) drawn[static_cast<std::size_t>(item)] += item == own ? 0 : 1;
    different.insert(items);
  }
  for (const Index never : {0, 1, 5, 6, 11}) EXPECT_EQ(drawn[static_cast<std::size_t>(never)], 0);
  // 3 of 7 in 6000 lists: 2571 times each, with a standard deviation of 38.
  for (const Index item : {2, 3, 4, 7, 8, 9, 10}) {
    EXPECT_NEAR(drawn[static_cast<std::size_t>(item)], 6000.0 * 3 / 7, 200.0) << item;
  }
  EXPECT_EQ(different.size(), 70U);  // both items with each of the 35 samples
}

}  // namespace
}  // namespace likewise
