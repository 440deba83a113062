// SPDX-License-Identifier: Apache-2.0
/// Which metrics exist, by name. A new list metric is a function in metrics.cpp and a row here.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "evaluation/metrics.h"
#include "likewise/evaluation.h"

namespace likewise {

/// What a metric is computed from.
enum class MetricKind {
  kList,      ///< the first k places of one user's list
  kCoverage,  ///< the first k places of all lists together
  kAuc,       ///< one user's scores of the whole catalogue
  kRating,    ///< predictions for the test pairs
};

struct MetricInfo {
  std::string_view name;
  MetricKind kind;
  ListMetric of_list;  ///< kList only
  bool higher_is_better;
  bool of_quality = true;     ///< compares answers with the held-out part: what a search may go by
  bool needs_shares = false;  ///< how many users have each item: needs the training interactions
};

[[nodiscard]] std::span<const MetricInfo> all_metrics();

/// Throws Error(kInvalidArgument) listing the names when there is no such metric.
[[nodiscard]] const MetricInfo& find_metric(std::string_view name);

/// One number of a report: a metric at a list length.
struct MetricColumn {
  std::string key;  ///< "ndcg@10"
  ListMetric of_list = nullptr;
  Index k = 0;
};

/// The metrics and list lengths of the options, checked and sorted.
struct EvaluationPlan {
  std::vector<Index> k;               ///< rising, no repeats
  std::vector<MetricColumn> columns;  ///< list metrics, every k
  bool coverage = false;
  std::string needs_shares;  ///< the metric among the columns that does, or empty
  bool auc = false;
  bool rmse = false;
  bool mae = false;

  [[nodiscard]] bool lists() const { return !columns.empty() || coverage; }
  [[nodiscard]] bool ranking() const { return lists() || auc; }
  [[nodiscard]] bool ratings() const { return rmse || mae; }
  [[nodiscard]] Index longest() const { return k.back(); }
};

/// Throws Error(kInvalidArgument) naming the metric or the k that is wrong.
[[nodiscard]] EvaluationPlan make_plan(const EvaluateOptions& options,
                                       const std::vector<std::string>& metrics);

/// Whether the metric can have this value: finite, not negative, no more than 1 where it is a
/// share.
[[nodiscard]] bool is_possible(const NamedMetric& metric, double value);

/// The key of a report: "ndcg" and 10 give "ndcg@10".
[[nodiscard]] std::string metric_key(std::string_view name, Index k);

}  // namespace likewise
