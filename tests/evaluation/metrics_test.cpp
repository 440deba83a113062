// SPDX-License-Identifier: Apache-2.0
// The formulas against trec_eval, ranx and scikit-learn (tests/golden/metrics.json).
#include "evaluation/metrics.h"

#include <algorithm>
#include <array>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "algorithms/popular/popular.h"
#include "evaluation/auc_evaluation.h"
#include "evaluation/list_evaluation.h"
#include "evaluation/relevance.h"
#include "likewise/control.h"
#include "likewise/error.h"
#include "likewise/popular.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

using nlohmann::json;

// Both sides sum a few dozen doubles; trec_eval works with natural logarithms and in another order.
constexpr double kTolerance = 1e-12;

const json& golden() {
  static const json data = json::parse(std::ifstream("tests/golden/metrics.json"));
  return data;
}

std::vector<std::string> list_metric_names() {
  return {"precision", "recall", "truncated_recall", "hit_rate", "map", "mrr", "ndcg"};
}

/// The golden users as a batch of lists, a test matrix and what each has seen.
struct GoldenLists {
  CsrMatrix test;
  CsrMatrix seen;
  TopKResult lists;
};

TopKResult lists_of(const std::vector<std::vector<Index>>& rankings, Index k) {
  TopKResult lists{k, Array<Index>(static_cast<Offset>(rankings.size()) * k),
                   Array<float>(static_cast<Offset>(rankings.size()) * k),
                   Array<Index>(static_cast<Offset>(rankings.size()))};
  for (std::size_t q = 0; q < rankings.size(); ++q) {
    std::ranges::copy(rankings[q], lists.items.data() + static_cast<Offset>(q) * k);
    lists.counts[static_cast<Offset>(q)] = static_cast<Index>(rankings[q].size());
  }
  return lists;
}

GoldenLists golden_lists() {
  const Index items = golden().at("items");
  std::vector<Entry> test;
  std::vector<Entry> seen;
  std::vector<std::vector<Index>> rankings;
  Index user = 0;
  for (const json& of_user : golden().at("users")) {
    for (const Index item : of_user.at("relevant")) test.push_back({user, item, 1.0F});
    for (const Index item : of_user.at("seen")) seen.push_back({user, item, 1.0F});
    rankings.push_back(of_user.at("ranking"));
    ++user;
  }
  return {make_csr(user, items, test), make_csr(user, items, seen), lists_of(rankings, items)};
}

EvaluationReport evaluate_golden(const std::vector<std::string>& metrics, Index batch) {
  const GoldenLists data = golden_lists();
  EvaluateOptions options;
  options.k = golden().at("k").get<std::vector<Index>>();
  options.per_user = true;
  const EvaluationPlan plan = make_plan(options, metrics);
  const Relevance relevance = find_relevant(data.test.view(), data.seen.view(), 0.0F);
  const Popularity popularity = train_popular(data.seen.view(), {Feedback::kImplicit});
  ListEvaluation lists(plan, relevance, popularity.shares.span(), data.test.cols, true);
  for (Index first = 0; first < data.test.rows; first += batch) {
    std::vector<std::vector<Index>> part;
    for (Index q = first; q < std::min(data.test.rows, first + batch); ++q) {
      const Index* begin = data.lists.items.data() + Offset{q} * data.lists.k;
      part.emplace_back(begin, begin + data.lists.counts[q]);
    }
    lists.add(lists_of(part, data.lists.k));
  }
  EvaluationReport report;
  lists.finish(report);
  return report;
}

TEST(Metrics, EqualTrecEvalPerUser) {
  const EvaluationReport report = evaluate_golden(list_metric_names(), 16);
  const json& users = golden().at("users");
  ASSERT_EQ(users.size(), 16U);
  std::size_t compared = 0;
  for (std::size_t u = 0; u < users.size(); ++u) {
    for (const auto& [key, expected] : users[u].at("values").items()) {
      // Per-user values are kept in float32.
      EXPECT_NEAR(report.per_user.at(key).at(u), expected.get<double>(), 6e-8)
          << key << " of " << u;
      ++compared;
    }
  }
  EXPECT_EQ(compared, 16U * 7 * 7);
}

TEST(Metrics, MeansCoverageAndPopularityEqualTheOutsideOnes) {
  std::vector<std::string> names = list_metric_names();
  names.insert(names.end(), {"coverage", "popularity"});
  const EvaluationReport report = evaluate_golden(names, 16);
  EXPECT_EQ(report.metrics.size(), 9U * 7);
  for (const auto& [key, expected] : golden().at("means").items()) {
    EXPECT_NEAR(report.metrics.at(key), expected.get<double>(), kTolerance) << key;
  }
}

TEST(Metrics, NeitherBatchesNorThreadsChangeABit) {
  const auto names = metric_names();
  const EvaluationReport whole = evaluate_golden(names, 16);
  for (const Index batch : {1, 3, 7}) {
    for (const int threads : {1, 3}) {
      with_threads(threads, [&] {
        const EvaluationReport report = evaluate_golden(names, batch);
        EXPECT_EQ(report.metrics, whole.metrics);
        EXPECT_EQ(report.per_user, whole.per_user);
      });
    }
  }
}

TEST(Metrics, AucEqualsScikitLearn) {
  for (const json& one : golden().at("auc")) {
    std::vector<float> scores = one.at("scores");
    std::vector<Index> relevant;
    for (std::size_t i = 0; i < scores.size(); ++i) {
      if (one.at("relevant")[i] == 1) relevant.push_back(static_cast<Index>(i));
    }
    EXPECT_NEAR(auc_of_user(scores, relevant, {}), one.at("auc").get<double>(), kTolerance);
  }
}

TEST(Metrics, AucLeavesSeenItemsOut) {
  const std::array<Index, 1> relevant{1};
  const std::array<Index, 2> seen{0, 3};
  std::array<float, 5> scores{9.0F, 1.0F, 0.0F, 8.0F, 2.0F};  // 1 above item 2, below item 4
  EXPECT_EQ(auc_of_user(scores, relevant, seen), 0.5);
  const std::array<Index, 3> all_others{0, 2, 3};
  std::array<float, 4> nothing_to_beat{1.0F, 2.0F, 3.0F, 4.0F};
  EXPECT_EQ(auc_of_user(nothing_to_beat, relevant, all_others), 0.5);
}

TEST(Metrics, RatingErrorsEqualScikitLearn) {
  for (const json& one : golden().at("ratings")) {
    const std::vector<float> predicted = one.at("predicted");
    const std::vector<float> actual = one.at("actual");
    const std::size_t half = actual.size() / 2;
    RatingErrors errors =
        rating_errors(std::span(predicted).first(half), std::span(actual).first(half));
    errors += rating_errors(std::span(predicted).subspan(half), std::span(actual).subspan(half));
    EXPECT_EQ(errors.count, static_cast<Offset>(actual.size()));
    EXPECT_NEAR(errors.rmse(), one.at("rmse").get<double>(), kTolerance);
    EXPECT_NEAR(errors.mae(), one.at("mae").get<double>(), kTolerance);
  }
}

TEST(Metrics, AnEmptyListScoresZeroEverywhere) {
  const std::array<float, 1> popularity{1.0F};
  const RankedList list{{}, {}, 3, popularity};
  for (const ListMetric metric :
       {precision_at, recall_at, truncated_recall_at, hit_rate_at, average_precision_at,
        reciprocal_rank_at, ndcg_at, popularity_at}) {
    EXPECT_EQ(metric(list, 1), 0.0);
    EXPECT_EQ(metric(list, 2147483647), 0.0);
  }
}

TEST(Metrics, ByHand) {
  const std::array<Index, 4> items{4, 2, 0, 1};
  const std::array<std::uint8_t, 4> hits{0, 1, 0, 1};
  const std::array<float, 5> popularity{0.5F, 0.25F, 1.0F, 0.0F, 0.0F};
  const RankedList list{items, hits, 3, popularity};
  EXPECT_DOUBLE_EQ(precision_at(list, 10), 2.0 / 10);
  EXPECT_DOUBLE_EQ(recall_at(list, 2), 1.0 / 3);
  EXPECT_DOUBLE_EQ(truncated_recall_at(list, 2), 1.0 / 2);
  EXPECT_DOUBLE_EQ(average_precision_at(list, 4), (1.0 / 2 + 2.0 / 4) / 3);
  EXPECT_DOUBLE_EQ(reciprocal_rank_at(list, 4), 1.0 / 2);
  EXPECT_DOUBLE_EQ(reciprocal_rank_at(list, 1), 0.0);
  EXPECT_DOUBLE_EQ(popularity_at(list, 3), 1.5 / 3);
}

TEST(MetricTable, NamesAndDirections) {
  EXPECT_EQ(metric_names().size(), 12U);
  EXPECT_TRUE(higher_is_better("ndcg@10"));
  EXPECT_TRUE(higher_is_better("auc"));
  for (const char* name : {"rmse", "mae", "popularity", "popularity@5"}) {
    EXPECT_FALSE(higher_is_better(name)) << name;
  }
  EXPECT_THROW((void)higher_is_better("nDCG"), Error);
}

TEST(MetricTable, TargetsAreValuesThatAMetricCanHave) {
  const MetricTarget lists = parse_target("ndcg=0.35");
  EXPECT_EQ(lists.metric.key, "ndcg@10");
  EXPECT_EQ(lists.value, 0.35);
  EXPECT_EQ(parse_target("recall@20=1").metric.k, 20);
  EXPECT_EQ(parse_target("rmse=1e1").value, 10.0);
  EXPECT_EQ(parse_target("auc=0").value, 0.0);
  const auto refused = [](const std::string& text, const std::string& why) {
    const std::string said =
        test::error_of(ErrorKind::kInvalidArgument, [&] { (void)parse_target(text); });
    EXPECT_NE(said.find(why), std::string::npos) << text << ": " << said;
  };
  for (const char* text : {"", "rmse", "0.9"}) refused(text, "a metric, = and a value");
  for (const char* text : {"rmse=", "rmse=low", "rmse=nan", "rmse=inf", "rmse= 1", "rmse=1e999",
                           "rmse=0.9=1", "rmse==1", "rmse=0x1"}) {
    refused(text, "after = comes a number");
  }
  for (const char* text : {"rmse=-0.1", "mae=-1"}) refused(text, "its values are 0 or more");
  for (const char* text : {"ndcg@10=1.01", "auc=2", "coverage@5=-0.1", "popularity@5=7"}) {
    refused(text, "its values are from 0 to 1");
  }
  refused("gini=0.5", "known are precision");
  refused("rmse@10=0.5", "rmse has no list length");
  refused("ndcg@0=0.5", "after @ comes a list length");
}

TEST(MetricTable, RepeatsAreDroppedAndFaultsAreNamed) {
  EvaluateOptions options;
  options.k = {20, 5, 20};
  const EvaluationPlan plan = make_plan(options, {"ndcg", "rmse", "ndcg"});
  ASSERT_EQ(plan.columns.size(), 2U);
  EXPECT_EQ(plan.columns[0].key, "ndcg@5");
  EXPECT_EQ(plan.longest(), 20);
  EXPECT_TRUE(plan.rmse);
  EXPECT_FALSE(plan.mae || plan.auc || plan.coverage);
  EXPECT_EQ(plan.needs_shares, "");
  const auto message = [&](std::vector<Index> k, const std::string& metric) -> std::string {
    options.k = std::move(k);
    try {
      (void)make_plan(options, {metric});
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      return error.what();
    }
    return "no error";
  };
  EXPECT_NE(message({10, 0}, "ndcg").find("k is 0"), std::string::npos);
  EXPECT_NE(message({}, "ndcg").find("k is empty"), std::string::npos);
  EXPECT_NE(message({10}, "ndcg@10").find("\"ndcg@10\""), std::string::npos);
}

TEST(Relevance, ThresholdAndSeenDecide) {
  const std::vector<Entry> test{{0, 1, 5.0F}, {0, 2, 3.0F}, {1, 0, 5.0F}, {3, 4, 4.0F}};
  const std::vector<Entry> seen{{1, 0, 1.0F}, {0, 0, 1.0F}};
  const CsrMatrix test_rows = make_csr(4, 5, test);
  const CsrMatrix seen_rows = make_csr(4, 5, seen);
  const Relevance relevance = find_relevant(test_rows.view(), seen_rows.view(), 4.0F);
  EXPECT_EQ(relevance.users, (std::vector<Index>{0, 3}));
  EXPECT_EQ(relevance.items, (std::vector<Index>{1, 4}));
  EXPECT_EQ(relevance.offsets, (std::vector<Offset>{0, 1, 2}));
  EXPECT_EQ(relevance.below_threshold, 1);
  EXPECT_EQ(relevance.seen, 1);
  EXPECT_EQ(relevance.users_without_history, 1);
  EXPECT_EQ(find_relevant(test_rows.view(), {}, 0.0F).items.size(), 4U);
  EXPECT_EQ(find_relevant({}, {}, 0.0F).size(), 0);
  const Relevance known = find_relevant(test_rows.view(), seen_rows.view(), 4.0F, true);
  EXPECT_EQ(known.users, (std::vector<Index>{0}));
  EXPECT_EQ(known.items, (std::vector<Index>{1}));
  EXPECT_EQ(known.offsets, (std::vector<Offset>{0, 1}));
  EXPECT_EQ(known.users_without_history, 1);
}

TEST(Popularity, IsTheShareOfUsers) {
  const std::vector<Entry> entries{{0, 0, 1.0F}, {1, 0, -1.0F}, {1, 1, 2.0F}, {3, 0, 0.5F}};
  const CsrMatrix m = make_csr(4, 3, entries);
  const Popularity implicit = train_popular(m.view(), {Feedback::kImplicit});
  ASSERT_EQ(implicit.shares.size(), 3);
  EXPECT_EQ(implicit.shares[0], 0.5F);  // a dislike is no vote
  EXPECT_EQ(implicit.shares[1], 0.25F);
  EXPECT_EQ(implicit.shares[2], 0.0F);
  EXPECT_EQ(train_popular(m.view(), {Feedback::kExplicit}).shares[0], 0.75F);
  EXPECT_EQ(train_popular(CsrMatrix{}.view(), {Feedback::kImplicit}).shares.size(), 0);
}

TEST(Popularity, DoesNotDependOnThreads) {
  const CsrMatrix m = test::random_csr(20000, 101, 60.0);  // more than one block of entries
  ASSERT_GT(m.nnz(), Offset{1} << 20);
  const Popularity one = train_popular(m.view(), {Feedback::kImplicit});
  for (const int threads : {1, 2, 5}) {
    with_threads(threads, [&] {
      const Popularity again = train_popular(m.view(), {Feedback::kImplicit});
      EXPECT_TRUE(std::ranges::equal(again.shares, one.shares));
    });
  }
}

}  // namespace
}  // namespace likewise
