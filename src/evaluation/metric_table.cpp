// SPDX-License-Identifier: Apache-2.0
#include "evaluation/metric_table.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/text/numbers.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr std::array kMetrics{
    MetricInfo{"precision", MetricKind::kList, precision_at, true},
    MetricInfo{"recall", MetricKind::kList, recall_at, true},
    MetricInfo{"truncated_recall", MetricKind::kList, truncated_recall_at, true},
    MetricInfo{"hit_rate", MetricKind::kList, hit_rate_at, true},
    MetricInfo{"map", MetricKind::kList, average_precision_at, true},
    MetricInfo{"mrr", MetricKind::kList, reciprocal_rank_at, true},
    MetricInfo{"ndcg", MetricKind::kList, ndcg_at, true},
    MetricInfo{"coverage", MetricKind::kCoverage, nullptr, true, false},
    MetricInfo{"popularity", MetricKind::kList, popularity_at, false, false, true},
    MetricInfo{"auc", MetricKind::kAuc, nullptr, true},
    MetricInfo{"rmse", MetricKind::kRating, nullptr, false},
    MetricInfo{"mae", MetricKind::kRating, nullptr, false},
};

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

[[nodiscard]] bool is_share(const NamedMetric& metric) {
  return find_metric(metric.name).kind != MetricKind::kRating;
}

std::vector<Index> checked_lengths(std::vector<Index> k) {
  if (k.empty()) fail("k is empty: name at least one list length, e.g. 10");
  std::sort(k.begin(), k.end());
  k.erase(std::unique(k.begin(), k.end()), k.end());
  if (k.front() < 1) fail(fmt::format("k is {}: a list length must be at least 1", k.front()));
  return k;
}

void add_to_plan(const MetricInfo& metric, EvaluationPlan& plan) {
  plan.coverage |= metric.kind == MetricKind::kCoverage;
  plan.auc |= metric.kind == MetricKind::kAuc;
  plan.rmse |= metric.name == "rmse";
  plan.mae |= metric.name == "mae";
  if (metric.needs_shares) plan.needs_shares = metric.name;
  if (metric.kind != MetricKind::kList) return;
  for (const Index k : plan.k) {
    plan.columns.push_back({metric_key(metric.name, k), metric.of_list, k});
  }
}

}  // namespace

std::span<const MetricInfo> all_metrics() { return kMetrics; }

std::string metric_key(std::string_view name, Index k) { return fmt::format("{}@{}", name, k); }

std::vector<std::string> metric_names() {
  std::vector<std::string> names;
  for (const MetricInfo& metric : kMetrics) names.emplace_back(metric.name);
  return names;
}

const MetricInfo& find_metric(std::string_view name) {
  const auto* found = std::find_if(kMetrics.begin(), kMetrics.end(),
                                   [&](const MetricInfo& metric) { return metric.name == name; });
  if (found != kMetrics.end()) return *found;
  const std::size_t at = name.find('@');
  if (at != std::string_view::npos && at + 1 < name.size()) {
    const std::string_view alone = find_metric(name.substr(0, at)).name;
    fail(fmt::format("metric \"{}\": the length of lists is said apart, by {} and {}", name,
                     mention("k", name.substr(at + 1)), mention("metrics", alone)));
  }
  fail(fmt::format("unknown metric \"{}\"; known are {} (list lengths go into {})", name,
                   fmt::join(metric_names(), ", "), mention("k")));
}

bool is_better(const NamedMetric& metric, double a, double b) {
  return higher_is_better(metric.name) ? a > b : a < b;
}

bool higher_is_better(const std::string& metric) {
  return find_metric(std::string_view(metric).substr(0, metric.find('@'))).higher_is_better;
}

NamedMetric parse_metric(const std::string& text) {
  const std::size_t at = text.find('@');
  const MetricInfo& metric = find_metric(std::string_view(text).substr(0, at));
  NamedMetric parsed{std::string(metric.name), std::string(metric.name)};
  const bool of_lists = metric.kind == MetricKind::kList || metric.kind == MetricKind::kCoverage;
  if (at != std::string::npos) {
    const auto k = canonical_integer(std::string_view(text).substr(at + 1));
    if (!of_lists) fail(fmt::format("{}: {} has no list length", text, metric.name));
    if (!k || *k < 1 || *k > 1'000'000) {
      fail(fmt::format("{}: after @ comes a list length from 1 to 1000000, as in ndcg@10", text));
    }
    parsed.k = static_cast<Index>(*k);
  }
  if (of_lists) parsed.key = metric_key(metric.name, parsed.k);
  return parsed;
}

bool is_possible(const NamedMetric& metric, double value) {
  return std::isfinite(value) && value >= 0.0 && !(is_share(metric) && value > 1.0);
}

void require_possible(const NamedMetric& metric, double value) {
  if (is_possible(metric, value)) return;
  fail(fmt::format("a target of {} for {}: its values are {}", value, metric.key,
                   is_share(metric) ? "from 0 to 1" : "0 or more"));
}

MetricTarget parse_target(const std::string& text) {
  const std::size_t at = text.find('=');
  const auto refuse = [&](const char* why) {
    fail(fmt::format("target '{}': {}, as in ndcg@10=0.35 or rmse=0.92", text, why));
  };
  if (at == std::string::npos) refuse("a metric, = and a value");
  MetricTarget target{parse_metric(text.substr(0, at))};
  const std::optional<double> value = parse_double(std::string_view(text).substr(at + 1));
  if (!value) refuse("after = comes a number");
  target.value = *value;
  require_possible(target.metric, target.value);
  return target;
}

EvaluationPlan make_plan(const EvaluateOptions& options, const std::vector<std::string>& metrics) {
  EvaluationPlan plan;
  plan.k = checked_lengths(options.k);
  std::vector<const MetricInfo*> asked;
  for (const std::string& name : metrics) asked.push_back(&find_metric(name));
  for (const MetricInfo& metric : kMetrics) {
    if (std::find(asked.begin(), asked.end(), &metric) != asked.end()) add_to_plan(metric, plan);
  }
  return plan;
}

}  // namespace likewise
