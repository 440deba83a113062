// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
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

namespace likewise {
namespace {

constexpr Index kUsersPerBatch = 4096;
constexpr Offset kAnswersPerBatch = Offset{1} << 22;  // 32 MiB of (item, score)
constexpr Offset kPairsPerBlock = Offset{1} << 20;

/// Everything that one evaluation looks at.
struct Task {
  const Recommender& recommender;
  const TestSet& test;
  const CsrView& seen;  ///< as given: no rows means the model's history
  CsrView excluded;     ///< what lists cannot hold: `seen` or the history
  const EvaluationPlan& plan;
  const RunControl& control;

  [[nodiscard]] const Model& model() const { return recommender.model(); }
};

std::vector<std::string> default_metrics(const Model& model, bool has_history) {
  if (model.algorithm == "als" && model.als.feedback == Feedback::kExplicit) return {"rmse", "mae"};
  std::vector<std::string> names;
  for (const MetricInfo& metric : all_metrics()) {
    const bool of_lists = metric.kind == MetricKind::kList || metric.kind == MetricKind::kCoverage;
    if (of_lists && (has_history || metric.name != "popularity")) names.emplace_back(metric.name);
  }
  return names;
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

/// Somebody who gets no number wants to know where the test rows went.
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

/// Rows of `matrix`, in the order of `rows`.
CsrMatrix take_rows(const CsrView& matrix, std::span<const Index> rows) {
  CsrMatrix taken{static_cast<Index>(rows.size()),
                  matrix.cols,
                  Array<Offset>(static_cast<Offset>(rows.size()) + 1),
                  {},
                  {}};
  for (Index i = 0; i < taken.rows; ++i) {
    taken.offsets[i + 1] = taken.offsets[i] + matrix.row_size(rows[static_cast<std::size_t>(i)]);
  }
  taken.columns = Array<Index>::uninitialized(taken.offsets[taken.rows]);
  taken.values = Array<float>::uninitialized(taken.offsets[taken.rows]);
  parallel_for(taken.rows, 64, [&](Offset i) {
    const Index row = rows[static_cast<std::size_t>(i)];
    std::ranges::copy(matrix.row_columns(row), taken.columns.data() + taken.offsets[i]);
    std::ranges::copy(matrix.row_values(row), taken.values.data() + taken.offsets[i]);
  });
  return taken;
}

Matrix take_rows(const Matrix& matrix, std::span<const Index> rows) {
  Matrix taken(static_cast<Index>(rows.size()), matrix.cols());
  for (Index i = 0; i < taken.rows(); ++i) {
    std::ranges::copy(matrix.row_span(rows[static_cast<std::size_t>(i)]), taken.row(i));
  }
  return taken;
}

TopKResult rank(const Task& task, std::span<const Index> users, Index n) {
  RecommendOptions options;
  options.n = n;
  if (task.seen.rows == 0) return task.recommender.recommend(users, options, task.control);
  const Matrix factors = take_rows(task.model().factors.users, users);
  const CsrMatrix history = take_rows(task.seen, users);
  return task.recommender.recommend(factors.view(), history.view(), options, task.control);
}

/// Calls body(first, users) for the evaluated users in batches that bound the memory of answers.
template <class Body>
void for_batches(const Task& task, const Relevance& relevance, Offset answers_per_user,
                 const char* stage, const Body& body) {
  const Offset fits = std::max<Offset>(1, kAnswersPerBatch / std::max<Offset>(1, answers_per_user));
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
  Factors shares;
  if (task.plan.popularity) shares = train_popularity(task.excluded, model.als.feedback);
  ListEvaluation lists(task.plan, relevance, shares.item_bias.span(), model.items.size(), per_user);
  for_batches(task, relevance, n, "evaluate",
              [&](Offset, std::span<const Index> users) { lists.add(rank(task, users, n)); });
  lists.finish(report);
}

void evaluate_auc(const Task& task, const Relevance& relevance, bool per_user,
                  EvaluationReport& report) {
  const Index items = task.model().items.size();
  std::vector<double> values(relevance.users.size());
  for_batches(task, relevance, items, "auc", [&](Offset first, std::span<const Index> users) {
    const PairList pairs = all_pairs(users, items);
    std::vector<float> scores = task.recommender.predict(pairs.users, pairs.items);
    parallel_for(static_cast<Offset>(users.size()), 1, [&](Offset q) {
      const auto row = std::span(scores).subspan(static_cast<std::size_t>(q * items),
                                                 static_cast<std::size_t>(items));
      values[static_cast<std::size_t>(first + q)] =
          auc_of_user(row, relevance.of(first + q),
                      row_or_nothing(task.excluded, users[static_cast<std::size_t>(q)]));
    });
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
    for (std::size_t i = 0; i < count; ++i) users[i] = user_of(begin + static_cast<Offset>(i));
    const auto at = static_cast<std::size_t>(begin);
    errors += rating_errors(task.recommender.predict(users, items.subspan(at, count)),
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

EvaluationReport evaluate(const Recommender& recommender, const TestSet& test,
                          const EvaluateOptions& options, const CsrView& seen,
                          const RunControl& control) {
  const Model& model = recommender.model();
  const CsrView excluded = seen.rows == 0 ? model.history.view() : seen;
  const EvaluationPlan plan =
      make_plan(options, options.metrics.empty() ? default_metrics(model, excluded.rows != 0)
                                                 : options.metrics);
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
