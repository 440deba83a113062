// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include <fmt/format.h>

#include "core/parallel.h"
#include "evaluation/auc_evaluation.h"
#include "evaluation/list_evaluation.h"
#include "evaluation/metric_table.h"
#include "evaluation/relevance.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/popularity.h"
#include "search/batches.h"

namespace likewise {
namespace {

constexpr Index kUsersPerBatch = 4096;
constexpr Offset kNumbersPerBatch = Offset{1} << 22;  // 32 MiB of (item, score)
constexpr Offset kScoresPerTask = Offset{1} << 17;
constexpr Offset kPairsPerBlock = Offset{1} << 20;

/// The inputs of one evaluation.
struct Task {
  const Recommender& recommender;
  const TestSet& test;
  const CsrView& seen;  ///< as given: no rows means the model's history
  CsrView excluded;     ///< left out of lists: `seen` or the history
  const EvaluationPlan& plan;
  const RunControl& control;

  [[nodiscard]] const Model& model() const { return recommender.model(); }
};

std::vector<std::string> default_metrics(const Model& model, bool has_history) {
  if (model.predicts_ratings()) return {"rmse", "mae"};
  std::vector<std::string> names;
  for (const MetricInfo& metric : all_metrics()) {
    const bool of_lists = metric.kind == MetricKind::kList || metric.kind == MetricKind::kCoverage;
    if (of_lists && (has_history || metric.name != "popularity")) names.emplace_back(metric.name);
  }
  return names;
}

EvaluationPlan plan_for(const Model& model, const EvaluateOptions& options, bool has_history) {
  EvaluationPlan plan = make_plan(
      options, options.metrics.empty() ? default_metrics(model, has_history) : options.metrics);
  if (plan.ratings() && std::holds_alternative<PopularParams>(model.params)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} needs predicted ratings; popular has shares of users: train with "
                            "--algorithm bias",
                            plan.rmse ? "rmse" : "mae"));
  }
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
  if (!task.plan.popularity || task.excluded.rows != 0) return;
  throw Error(ErrorKind::kInvalidArgument,
              "metric popularity needs the training interactions, which this model does not hold: "
              "pass them as seen");
}

/// Without a number the message says why no test row counted.
[[noreturn]] void fail_without_users(const Relevance& relevance, const TestSet& test,
                                     float min_value) {
  throw Error(ErrorKind::kBadData,
              fmt::format("nothing to rank: no user has a relevant test item. Of {} test rows, {} "
                          "have a user or item that the model does not know, {} have a value below "
                          "{}, {} are in the training data too",
                          test.by_user.nnz() + static_cast<Offset>(test.fallback_values.size()),
                          test.fallback_values.size(), relevance.below_threshold, min_value,
                          relevance.seen));
}

TopKResult rank(const Task& task, std::span<const Index> users, Index n) {
  RecommendOptions options;
  options.n = n;
  const RunControl quiet{task.control.cancel, {}};  // progress counts users of the whole evaluation
  if (task.seen.rows == 0) return task.recommender.recommend(users, options, quiet);
  const CsrMatrix history = gather_rows(task.seen, users);
  const CsrView seen = history.view();
  options.seen = &seen;
  return task.recommender.recommend(users, options, quiet);
}

/// Calls body(first, users) for the evaluated users in batches that bound the memory of answers and
/// values.
template <class Body>
void for_batches(const Task& task, const Relevance& relevance, Offset numbers_per_user,
                 const char* stage, const Body& body) {
  const Offset fits = std::max<Offset>(1, kNumbersPerBatch / std::max<Offset>(1, numbers_per_user));
  const Offset batch = std::min<Offset>(kUsersPerBatch, fits);
  const std::span<const Index> users(relevance.users);
  for (Offset first = 0; first < relevance.size(); first += batch) {
    task.control.check();
    const Offset count = std::min<Offset>(batch, relevance.size() - first);
    body(first, users.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(count)));
    task.control.report(stage, first + count, relevance.size(), "users");
  }
}

void evaluate_lists(const Task& task, const Relevance& relevance, bool per_user,
                    EvaluationReport& report) {
  const Model& model = task.model();
  const Index n = std::min(task.plan.longest(), model.items.size());
  Popularity popularity;
  if (task.plan.popularity) popularity = train_popularity(task.excluded, {model.feedback()});
  ListEvaluation lists(task.plan, relevance, popularity.shares.span(), model.items.size(),
                       per_user);
  const Offset numbers = n + static_cast<Offset>(task.plan.columns.size());
  for_batches(task, relevance, numbers, "evaluate",
              [&](Offset, std::span<const Index> users) { lists.add(rank(task, users, n)); });
  lists.finish(report);
}

/// AUC of some users; holds the scores of kScoresPerTask cells, or of one user if that is more.
void auc_of_users(const Task& task, const Relevance& relevance, Offset first,
                  std::span<const Index> users, std::span<double> values) {
  const auto items = static_cast<std::size_t>(task.model().items.size());
  const Offset block = std::max<Offset>(1, kScoresPerTask / static_cast<Offset>(items));
  parallel_blocks(static_cast<Offset>(users.size()), block, [&](Offset begin, Offset end, Offset) {
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

void evaluate_auc(const Task& task, const Relevance& relevance, bool per_user,
                  EvaluationReport& report) {
  std::vector<double> values(relevance.users.size());
  for_batches(task, relevance, 1, "auc", [&](Offset first, std::span<const Index> users) {
    auc_of_users(task, relevance, first, users, values);
  });
  double sum = 0.0;
  for (const double value : values) sum += value;
  report.metrics["auc"] = sum / static_cast<double>(values.size());
  if (per_user) report.per_user["auc"].assign(values.begin(), values.end());
}

void evaluate_ranking(const Task& task, const EvaluateOptions& options, EvaluationReport& report) {
  const Relevance relevance =
      find_relevant(task.test.by_user.view(), task.excluded, options.min_relevant_value);
  if (relevance.users.empty()) fail_without_users(relevance, task.test, options.min_relevant_value);
  if (task.plan.lists()) evaluate_lists(task, relevance, options.per_user, report);
  if (task.plan.auc) evaluate_auc(task, relevance, options.per_user, report);
  report.users_evaluated = relevance.size();
  report.users_without_history = relevance.users_without_history;
  report.relevant_items = static_cast<Offset>(relevance.items.size());
  report.relevant_seen = relevance.seen;
  if (options.per_user) report.users = relevance.users;
}

/// Errors over pairs that lie beside `values`, block after block.
template <class UserOf>
RatingErrors errors_of_pairs(const Task& task, std::span<const Index> items,
                             std::span<const float> values, const UserOf& user_of) {
  RatingErrors errors;
  const auto total = static_cast<Offset>(values.size());
  for (Offset begin = 0; begin < total; begin += kPairsPerBlock) {
    task.control.check();
    const auto count = static_cast<std::size_t>(std::min(kPairsPerBlock, total - begin));
    std::vector<Index> users(count);
    const RunControl quiet{task.control.cancel, {}};
    for (std::size_t i = 0; i < count; ++i) users[i] = user_of(begin + static_cast<Offset>(i));
    const auto at = static_cast<std::size_t>(begin);
    errors += rating_errors(task.recommender.predict(users, items.subspan(at, count), quiet),
                            values.subspan(at, count));
    task.control.report("predict", begin + static_cast<Offset>(count), total, "pairs");
  }
  return errors;
}

void evaluate_ratings(const Task& task, EvaluationReport& report) {
  const CsrView known = task.test.by_user.view();
  Index row = 0;  // positions rise, so the row of each is found by walking on
  RatingErrors errors = errors_of_pairs(task, task.test.by_user.columns.span(),
                                        task.test.by_user.values.span(), [&](Offset position) {
                                          while (known.offsets[row + 1] <= position) ++row;
                                          return row;
                                        });
  errors += errors_of_pairs(task, task.test.fallback_items, task.test.fallback_values,
                            [&](Offset position) {
                              return task.test.fallback_users[static_cast<std::size_t>(position)];
                            });
  if (errors.count == 0)
    throw Error(ErrorKind::kBadData, "nothing to predict: the test set is empty");
  if (task.plan.rmse) report.metrics["rmse"] = errors.rmse();
  if (task.plan.mae) report.metrics["mae"] = errors.mae();
  report.pairs_evaluated = errors.count;
}

}  // namespace

MetricNeeds needs_of(const Model& model, const EvaluateOptions& options) {
  const EvaluationPlan plan = plan_for(model, options, true);
  return {plan.lists(), plan.ranking(), plan.ratings()};
}

std::vector<Job> evaluation_jobs(const Model& model, const EvaluateOptions& options) {
  const MetricNeeds needs = needs_of(model, options);
  std::vector<Job> jobs;
  if (needs.ranking) jobs.push_back(lists_job(model.params));
  if (const auto job = predictions_job(model.params); needs.ratings && job) jobs.push_back(*job);
  return jobs;
}

EvaluationReport evaluate(const Recommender& recommender, const TestSet& test,
                          const EvaluateOptions& options, const CsrView& seen,
                          const RunControl& control) {
  if (!std::isfinite(options.min_relevant_value)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("min_relevant_value must be a finite number, not {}",
                            options.min_relevant_value));
  }
  const Model& model = recommender.model();
  const CsrView excluded = seen.rows == 0 ? model.history.view() : seen;
  const EvaluationPlan plan = plan_for(model, options, excluded.rows != 0);
  const Task task{recommender, test, seen, excluded, plan, control};
  check_shape(test.by_user.view(), model, "the test set");
  if (excluded.rows != 0) check_shape(excluded, model, "seen");
  check_history(task);
  EvaluationReport report;
  if (plan.ranking()) evaluate_ranking(task, options, report);
  if (plan.ratings()) evaluate_ratings(task, report);
  return report;
}

}  // namespace likewise
