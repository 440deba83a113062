// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/popular/popular.h"
#include "core/system/parallel.h"
#include "data/select.h"
#include "evaluation/auc_evaluation.h"
#include "evaluation/candidates.h"
#include "evaluation/list_evaluation.h"
#include "evaluation/metric_table.h"
#include "evaluation/relevance.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/popular.h"
#include "retrieval/batches.h"

namespace likewise {
namespace {

constexpr Index kUsersPerBatch = 4096;
constexpr Offset kNumbersPerBatch = Offset{1} << 22;  // 32 MiB of (item, score)
constexpr Offset kScoresPerTask = Offset{1} << 17;
constexpr std::size_t kPairsPerCall = std::size_t{1} << 18;
constexpr Offset kPairsPerBlock = Offset{1} << 20;

/// The inputs of one evaluation.
struct Task {
  const Recommender& recommender;
  const TestSet& test;
  const CsrView& seen;  ///< as given: no rows means the model's history
  CsrView excluded;     ///< left out of lists: `seen` or the history
  const EvaluationPlan& plan;
  const EvaluateOptions& options;
  const RunControl& control;

  [[nodiscard]] const Model& model() const { return recommender.model(); }
};

std::vector<std::string> default_metrics(const Model& model, bool has_history) {
  if (model.predicts_ratings()) return {"rmse", "mae"};
  std::vector<std::string> names;
  for (const MetricInfo& metric : all_metrics()) {
    const bool of_lists = metric.kind == MetricKind::kList || metric.kind == MetricKind::kCoverage;
    if (of_lists && (has_history || !metric.needs_shares)) names.emplace_back(metric.name);
  }
  return names;
}

/// A number would be the distance of two different things.
[[noreturn]] void refuse_ratings(const Model& model, const EvaluationPlan& plan) {
  std::vector<std::string_view> ranking;
  for (const MetricInfo& metric : all_metrics()) {
    if (metric.kind != MetricKind::kRating) ranking.push_back(metric.name);
  }
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("metric {} compares predicted ratings, and this model ({}, feedback {}) predicts "
                  "none: take a metric that ranks ({}), or train with feedback explicit one that "
                  "predicts ratings: {}, als, sgd with loss squared, item-knn or "
                  "user-knn with another prediction than sum",
                  plan.rmse ? "rmse" : "mae", model.algorithm(),
                  kFeedbackNames[static_cast<std::size_t>(model.feedback())],
                  fmt::join(ranking, ", "), mention("algorithm", "bias")));
}

EvaluationPlan plan_for(const Model& model, const EvaluateOptions& options, bool has_history) {
  EvaluationPlan plan = make_plan(
      options, options.metrics.empty() ? default_metrics(model, has_history) : options.metrics);
  if (plan.ratings() && !model.predicts_ratings()) refuse_ratings(model, plan);
  return plan;
}

void check_shape(const CsrView& matrix, const Model& model, const char* what) {
  if (matrix.rows == model.users.size() && matrix.cols == model.items.size()) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} is {} x {}, the model has {} users and {} items: bring it into the "
                          "model's indices with make_test_set",
                          what, matrix.rows, matrix.cols, model.users.size(), model.items.size()));
}

void check_history(const Task& task) {
  if (task.plan.needs_shares.empty() || task.excluded.rows != 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("metric {} needs the training interactions, which this model does not "
                          "hold: pass them as seen",
                          task.plan.needs_shares));
}

/// Without a number the message says why no test row counted.
[[noreturn]] void fail_without_users(const Relevance& relevance, const TestSet& test,
                                     float min_value) {
  if (relevance.users_without_history > 0) {
    throw Error(ErrorKind::kBadData,
                fmt::format("nothing to rank: of {} with a relevant test item none has a history "
                            "in the training part",
                            counted(relevance.users_without_history, "user")));
  }
  throw Error(
      ErrorKind::kBadData,
      fmt::format("nothing to rank: no user has a relevant test item. Of {} test rows, {} "
                  "have a user or item that the model does not know, {} have a value {}, {} "
                  "are in the training data too",
                  test.by_user.nnz() + static_cast<Offset>(test.fallback_values.size()),
                  test.fallback_values.size(), relevance.below_threshold,
                  min_value == 0.0F ? "of 0 or below" : fmt::format("below {}", min_value),
                  relevance.seen));
}

TopKResult rank(const Task& task, std::span<const Index> users, Index n) {
  RecommendOptions options;
  options.n = n;
  options.allow = task.options.items;
  const RunControl quiet{task.control.cancel, {}};  // progress counts users of the whole evaluation
  if (task.seen.rows == 0) return task.recommender.recommend(users, options, quiet);
  const CsrMatrix history = gather_rows(task.seen, users);
  const CsrView seen = history.view();
  options.seen = &seen;
  return task.recommender.recommend(users, options, quiet);
}

/// Calls body(first, users) for the entries of `relevance`, each a `unit`, in batches that bound
/// the memory of answers and values.
template <class Body>
void for_batches(const Task& task, const Relevance& relevance, Offset numbers_per_user,
                 const char* stage, const char* unit, const Body& body) {
  const Offset fits = std::max<Offset>(1, kNumbersPerBatch / std::max<Offset>(1, numbers_per_user));
  const Offset batch = std::min<Offset>(kUsersPerBatch, fits);
  const std::span<const Index> users(relevance.users);
  for (Offset first = 0; first < relevance.size(); first += batch) {
    task.control.check();
    const Offset count = std::min<Offset>(batch, relevance.size() - first);
    body(first, users.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    task.control.report(stage, first + count, relevance.size(), unit);
  }
}

/// Shares of users, where the plan needs them.
Popularity popularity_of(const Task& task) {
  if (task.plan.needs_shares.empty()) return {};
  return train_popular(task.excluded, {task.model().feedback()});
}

void evaluate_lists(const Task& task, const Relevance& relevance, EvaluationReport& report) {
  const Model& model = task.model();
  const Index n = std::min(task.plan.longest(), model.items.size());
  const Popularity popularity = popularity_of(task);
  ListEvaluation lists(task.plan, relevance, popularity.shares.span(), model.items.size(),
                       task.options.per_user);
  const Offset numbers = n + static_cast<Offset>(task.plan.columns.size());
  for_batches(task, relevance, numbers, "evaluate", "users",
              [&](Offset, std::span<const Index> users) { lists.add(rank(task, users, n)); });
  lists.finish(report);
}

/// AUC of some users; holds the scores of kScoresPerTask cells, or of one user if that is more.
void auc_of_users(const Task& task, const Relevance& relevance, Offset first,
                  std::span<const Index> users, std::span<double> values) {
  const auto items = static_cast<std::size_t>(task.model().items.size());
  const Offset block = std::max<Offset>(1, kScoresPerTask / static_cast<Offset>(items));
  parallel_blocks(static_cast<Offset>(users.size()), block, [&](Offset begin, Offset end, Offset) {
    task.control.check();
    const auto part =
        users.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin));
    std::vector<float> scores(part.size() * items);
    task.recommender.score_all(part, scores.data());
    for (std::size_t i = 0; i < part.size(); ++i) {
      const Offset position = first + begin + static_cast<Offset>(i);
      values[static_cast<std::size_t>(position)] =
          auc_of_user(std::span(scores).subspan(i * items, items), relevance.of(position),
                      row_or_nothing(task.excluded, part[i]));
    }
  });
}

void evaluate_auc(const Task& task, const Relevance& relevance, EvaluationReport& report) {
  std::vector<double> values(relevance.users.size());
  for_batches(task, relevance, 1, "auc", "users", [&](Offset first, std::span<const Index> users) {
    auc_of_users(task, relevance, first, users, values);
  });
  double sum = 0.0;
  for (const double value : values) sum += value;
  report.metrics["auc"] = sum / static_cast<double>(values.size());
  if (task.options.per_user) report.per_user["auc"].assign(values.begin(), values.end());
}

/// The items of some lists, one list after another, with their scores.
struct ScoredLists {
  std::vector<Offset> begins;  ///< of each list, and the end
  std::vector<Index> items;    ///< rising in each list
  std::vector<float> scores;

  [[nodiscard]] std::span<const Index> items_of(Offset list) const { return of(items, list); }
  [[nodiscard]] std::span<const float> scores_of(Offset list) const { return of(scores, list); }

 private:
  template <class T>
  [[nodiscard]] std::span<const T> of(const std::vector<T>& all, Offset list) const {
    const auto at = static_cast<std::size_t>(list);
    return std::span(all).subspan(static_cast<std::size_t>(begins[at]),
                                  static_cast<std::size_t>(begins[at + 1] - begins[at]));
  }
};

ScoredLists score_lists(const Task& task, const CandidateLists& candidates, Offset first,
                        std::span<const Index> users) {
  std::vector<std::vector<Index>> items(users.size());
  parallel_for(std::ssize(users), 16, [&](Offset q) {
    task.control.check();
    items[static_cast<std::size_t>(q)] = candidates.items(first + q);
  });
  ScoredLists lists;
  std::vector<Index> asked;
  lists.begins.push_back(0);
  for (std::size_t q = 0; q < users.size(); ++q) {
    lists.items.insert(lists.items.end(), items[q].begin(), items[q].end());
    lists.begins.push_back(std::ssize(lists.items));
    asked.resize(lists.items.size(), users[q]);
  }
  for (std::size_t at = 0; at < asked.size(); at += kPairsPerCall) {
    task.control.check();
    const std::size_t count = std::min(kPairsPerCall, asked.size() - at);
    const std::vector<float> scores = task.recommender.ranking_scores(
        std::span(asked).subspan(at, count), std::span(lists.items).subspan(at, count));
    lists.scores.insert(lists.scores.end(), scores.begin(), scores.end());
  }
  return lists;
}

/// The n best of each list, as a search would give them.
TopKResult best_of(const ScoredLists& lists, Index n) {
  const Offset queries = std::ssize(lists.begins) - 1;
  TopKResult best{n, Array<Index>(queries * n), Array<float>(queries * n), Array<Index>(queries)};
  parallel_for(queries, 16, [&](Offset q) {
    const auto items = lists.items_of(q);
    const auto scores = lists.scores_of(q);
    std::vector<std::size_t> order(items.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    const auto count = std::min(items.size(), static_cast<std::size_t>(n));
    const auto better = [&](std::size_t a, std::size_t b) {
      return scores[a] != scores[b] ? scores[a] > scores[b] : items[a] < items[b];
    };
    std::partial_sort(order.begin(), order.begin() + static_cast<Offset>(count), order.end(),
                      better);
    for (std::size_t e = 0; e < count; ++e) {
      best.items[q * n + static_cast<Offset>(e)] = items[order[e]];
      best.scores[q * n + static_cast<Offset>(e)] = scores[order[e]];
    }
    best.counts[q] = static_cast<Index>(count);
  });
  return best;
}

/// Relevant items of a list against its others.
double auc_of_list(std::span<const Index> items, std::span<const float> scores,
                   std::span<const Index> relevant) {
  std::vector<float> of_relevant;
  std::vector<float> of_others;
  for (std::size_t i = 0; i < items.size(); ++i) {
    const bool hit = std::ranges::binary_search(relevant, items[i]);
    (hit ? of_relevant : of_others).push_back(scores[i]);
  }
  std::ranges::sort(of_relevant);
  return auc(of_relevant, of_others);
}

void evaluate_few_items(const Task& task, const CandidateLists& candidates,
                        EvaluationReport& report) {
  const Relevance& relevance = candidates.lists();
  const bool per_user = task.options.per_user;
  const auto n = static_cast<Index>(std::min<Offset>(task.plan.longest(), candidates.longest()));
  const Popularity popularity = popularity_of(task);
  ListEvaluation lists(task.plan, relevance, popularity.shares.span(), task.model().items.size(),
                       per_user);
  UserMeans aucs(1, per_user);
  const Offset numbers = 2 * candidates.longest() + static_cast<Offset>(task.plan.columns.size());
  for_batches(task, relevance, numbers, "evaluate", "lists",
              [&](Offset first, std::span<const Index> users) {
                const ScoredLists scored = score_lists(task, candidates, first, users);
                if (task.plan.lists()) lists.add(best_of(scored, n));
                for (Offset q = 0; task.plan.auc && q < std::ssize(users); ++q) {
                  const double value =
                      auc_of_list(scored.items_of(q), scored.scores_of(q), relevance.of(first + q));
                  aucs.add(users[static_cast<std::size_t>(q)], std::span(&value, 1));
                }
              });
  if (task.plan.lists()) lists.finish(report);
  if (!task.plan.auc) return;
  aucs.end_user();
  report.metrics["auc"] = aucs.mean(0);
  if (per_user) report.per_user["auc"] = aucs.values(0);
}

void evaluate_ranking(const Task& task, EvaluationReport& report) {
  const EvaluateOptions& options = task.options;
  const CsrView test = task.test.by_user.view();
  Relevance relevance =
      find_relevant(test, task.excluded, options.min_relevant_value, options.with_history);
  if (relevance.users.empty()) fail_without_users(relevance, task.test, options.min_relevant_value);
  report.relevant_seen = relevance.seen;
  const Index without_history = relevance.users_without_history;
  if (of_few_items(options)) {
    const CandidateLists candidates(relevance, test, task.excluded, options);
    evaluate_few_items(task, candidates, report);
    report.users_without_candidates = candidates.users_without();
    report.relevant_no_candidates = candidates.relevant_no_candidates();
    relevance = candidates.lists();
    relevance.users.erase(std::unique(relevance.users.begin(), relevance.users.end()),
                          relevance.users.end());
  } else {
    if (task.plan.lists()) evaluate_lists(task, relevance, report);
    if (task.plan.auc) evaluate_auc(task, relevance, report);
  }
  report.users_evaluated = relevance.size();
  report.users_without_history =
      options.with_history ? without_history : relevance.users_without_history;
  report.relevant_items = static_cast<Offset>(relevance.items.size());
  if (options.per_user) report.users = std::move(relevance.users);
}

/// Errors over pairs, block after block. users_of(begin, count) are those of some pairs.
template <class UsersOf>
RatingErrors errors_of_pairs(const Task& task, std::span<const Index> items,
                             std::span<const float> values, const UsersOf& users_of) {
  RatingErrors errors;
  const auto total = static_cast<Offset>(values.size());
  const RunControl quiet{task.control.cancel, {}};
  for (Offset begin = 0; begin < total; begin += kPairsPerBlock) {
    task.control.check();
    const Offset count = std::min(kPairsPerBlock, total - begin);
    const auto part = [&](auto all) {
      return all.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
    };
    const std::span<const Index> users = users_of(begin, count);
    errors += rating_errors(task.recommender.predict(users, part(items), quiet), part(values));
    task.control.report("predict", begin + count, total, "pairs");
  }
  return errors;
}

/// The rows of entries from `begin` on.
void write_rows(const CsrView& m, Offset begin, std::span<Index> rows) {
  constexpr Offset kEntriesPerTask = 1 << 14;
  parallel_blocks(std::ssize(rows), kEntriesPerTask, [&](Offset from, Offset to, Offset) {
    const Offset* const ends = m.offsets + 1;
    auto row = static_cast<Index>(std::upper_bound(ends, ends + m.rows, begin + from) - ends);
    for (Offset at = from; at < to; ++at) {
      while (ends[row] <= begin + at) ++row;
      rows[static_cast<std::size_t>(at)] = row;
    }
  });
}

void evaluate_ratings(const Task& task, EvaluationReport& report) {
  const TestSet& test = task.test;
  std::vector<Index> rows(static_cast<std::size_t>(std::min(kPairsPerBlock, test.by_user.nnz())));
  RatingErrors errors =
      errors_of_pairs(task, test.by_user.columns.span(), test.by_user.values.span(),
                      [&](Offset begin, Offset count) {
                        const auto users = std::span(rows).first(static_cast<std::size_t>(count));
                        write_rows(test.by_user.view(), begin, users);
                        return users;
                      });
  errors += errors_of_pairs(
      task, test.fallback_items, test.fallback_values, [&](Offset begin, Offset count) {
        return std::span(test.fallback_users)
            .subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(count));
      });
  if (errors.count == 0)
    throw Error(ErrorKind::kBadData, "nothing to predict: the test set is empty");
  if (task.plan.rmse) report.metrics["rmse"] = errors.rmse();
  if (task.plan.mae) report.metrics["mae"] = errors.mae();
  report.pairs_evaluated = errors.count;
}

/// The test rows of these items; nothing where there are none named.
std::optional<TestSet> rows_of_items(const TestSet& test, std::span<const Index> items) {
  if (items.empty()) return std::nullopt;
  Interactions all;
  all.by_user = test.by_user.share();
  TestSet some;
  some.by_user = select(all, [&](Index, Offset at) {
                   return std::ranges::binary_search(items, test.by_user.columns[at]);
                 }).by_user;
  some.unknown_users = test.unknown_users;
  some.unknown_items = test.unknown_items;
  return some;
}

void check_items(const EvaluateOptions& options, const EvaluationPlan& plan) {
  if (options.items.empty()) return;
  if (of_few_items(options) || plan.auc) {
    throw Error(ErrorKind::kInvalidArgument,
                "lists of some items alone go with neither candidates, negatives nor auc, which "
                "say themselves what is ranked");
  }
}

}  // namespace

MetricNeeds needs_of(const Model& model, const EvaluateOptions& options) {
  const EvaluationPlan plan = plan_for(model, options, true);
  check_items(options, plan);
  if (of_few_items(options) && !plan.ranking()) {
    throw Error(ErrorKind::kInvalidArgument,
                "candidates and negatives are of lists: they need a metric that ranks, as ndcg");
  }
  return {plan.lists(), plan.ranking(), plan.ratings(), plan.ranking() && !of_few_items(options)};
}

std::vector<Job> evaluation_jobs(const Model& model, const EvaluateOptions& options) {
  const MetricNeeds needs = needs_of(model, options);
  std::vector<Job> jobs;
  if (needs.search) jobs.push_back(lists_job(model.params));
  if (const auto job = predictions_job(model.params); needs.ratings && job) jobs.push_back(*job);
  return jobs;
}

EvaluationReport evaluate(const Recommender& recommender, const TestSet& whole,
                          const EvaluateOptions& options, const CsrView& seen,
                          const RunControl& control) {
  const std::optional<TestSet> some = rows_of_items(whole, options.items);
  const TestSet& test = some ? *some : whole;
  if (!std::isfinite(options.min_relevant_value)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} must be a finite number, not {}", mention("min_relevant_value"),
                            options.min_relevant_value));
  }
  const Model& model = recommender.model();
  const CsrView excluded = seen.rows == 0 ? model.history.view() : seen;
  const EvaluationPlan plan = plan_for(model, options, excluded.rows != 0);
  (void)needs_of(model, options);
  if (plan.ratings() && whole.faded) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("rmse and mae are of ratings, and {} has made those of the test set "
                            "lower: read it without",
                            mention("half_life")));
  }
  check_candidates(options, model.users.size(), model.items.size());
  const Task task{recommender, test, seen, excluded, plan, options, control};
  check_shape(test.by_user.view(), model, "the test set");
  if (excluded.rows != 0) check_shape(excluded, model, "seen");
  check_history(task);
  EvaluationReport report;
  if (plan.ranking()) evaluate_ranking(task, report);
  if (plan.ratings()) evaluate_ratings(task, report);
  return report;
}

}  // namespace likewise
