// SPDX-License-Identifier: Apache-2.0
#include "report/report.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "likewise/recommender.h"
#include "likewise/version.h"
#include "options/titles.h"
#include "output/parameters.h"
#include "output/text.h"
#include "report/distribution.h"

namespace likewise::cli {
namespace {

constexpr Index kSampleItems = 8;
constexpr std::size_t kTopItems = 12;

std::string label_of(const Model& model, Index item) {
  return title_or_id(model.titles, model.items, item);
}

std::vector<Bar> most_taken(const Model& model, const CsrView& by_item) {
  std::vector<Index> order(static_cast<std::size_t>(by_item.rows));
  std::iota(order.begin(), order.end(), 0);
  const auto shown = std::min(kTopItems, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(shown), order.end(),
                    [&](Index a, Index b) {
                      const Offset sa = by_item.row_size(a);
                      const Offset sb = by_item.row_size(b);
                      return sa != sb ? sa > sb : a < b;
                    });
  std::vector<Bar> bars;
  for (std::size_t i = 0; i < shown; ++i) {
    const Offset count = by_item.row_size(order[i]);
    bars.push_back({label_of(model, order[i]), static_cast<double>(count), with_commas(count)});
  }
  return bars;
}

/// Users with little, middling and much history: what the model says must make sense for each.
std::vector<Index> sample_users(const CsrView& history) {
  std::vector<Index> order;
  for (Index u = 0; u < history.rows; ++u) {
    if (history.row_size(u) > 0) order.push_back(u);
  }
  std::sort(order.begin(), order.end(), [&](Index a, Index b) {
    const Offset sa = history.row_size(a);
    const Offset sb = history.row_size(b);
    return sa != sb ? sa < sb : a < b;
  });
  std::vector<Index> chosen;
  for (const double share : {0.25, 0.5, 0.75}) {
    const auto at = static_cast<std::size_t>(share * static_cast<double>(order.size()));
    if (at < order.size()) chosen.push_back(order[at]);
  }
  chosen.erase(std::unique(chosen.begin(), chosen.end()), chosen.end());
  return chosen;
}

/// The items of a user with the largest values, the first eight.
std::vector<std::string> favourites(const Model& model, Index user) {
  const CsrView history = model.history.view();
  const auto items = history.row_columns(user);
  const auto values = history.row_values(user);
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), 0U);
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return values[a] > values[b]; });
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min<std::size_t>(kSampleItems, order.size()); ++i) {
    names.push_back(label_of(model, items[order[i]]));
  }
  return names;
}

std::vector<ReportSample> make_samples(const std::shared_ptr<const Model>& model,
                                       const Device& device) {
  if (!model->ranks_items()) return {};
  const std::vector<Index> users = sample_users(model->history.view());
  const Recommender recommender(model, device);
  RecommendOptions options;
  options.n = kSampleItems;
  const TopKResult top = recommender.recommend(users, options, Progress::stop_control());
  std::vector<ReportSample> samples;
  for (std::size_t q = 0; q < users.size(); ++q) {
    ReportSample sample{model->users.name(users[q]), favourites(*model, users[q]), {}};
    const auto query = static_cast<Index>(q);
    for (Index r = 0; r < top.counts[query]; ++r) {
      sample.recommended.push_back(label_of(*model, top.items[Offset{query} * top.k + r]));
    }
    samples.push_back(std::move(sample));
  }
  return samples;
}

/// Every parameter that had an effect.
Facts parameter_facts(const Model& model) {
  Facts facts = {{"algorithm", std::string(model.algorithm())}};
  if (!model.provenance.choice.empty()) facts.emplace_back("choice", model.provenance.choice);
  for (auto [name, value] : effective_parameters(model.params)) {
    std::ranges::replace(name, '_', ' ');
    facts.emplace_back(std::move(name), std::move(value));
  }
  facts.emplace_back("device", model.provenance.device);
  facts.emplace_back("created", model.provenance.created);
  facts.emplace_back("likewise", kVersion);
  return facts;
}

Facts figures_of(const Model& model) {
  const double cells = static_cast<double>(model.history.rows) * model.history.cols;
  const double density = cells > 0 ? static_cast<double>(model.history.nnz()) / cells : 0;
  Facts facts = {{"users", with_commas(model.users.size())},
                 {"items", with_commas(model.items.size())},
                 {"interactions", with_commas(model.history.nnz())},
                 {"of all pairs", fmt::format("{:.3g} %", 100 * density)}};
  if (const Factors* factors = model.factors()) {
    facts.emplace_back("factors", fmt::format("{}", factors->items.cols()));
  }
  if (const Knn* hood = model.knn()) {
    facts.emplace_back("neighbours kept", with_commas(hood->neighbours.rows.size()));
  }
  if (const auto validation = model.best_validation()) {
    const std::string among =
        model.validation_among.empty() ? "" : " among " + model.validation_among;
    facts.emplace_back(model.validation_metric + " in validation" + among,
                       fmt::format("{:.4f}", *validation));
  }
  return facts;
}

}  // namespace

Report describe_training(const std::shared_ptr<const Model>& model, const Device& device,
                         const std::string& source, const std::vector<StageTime>& stages) {
  const CsrMatrix by_item = transpose(model->history.view());
  Report report;
  report.title = "Training report";
  report.subtitle =
      fmt::format("{} · {} · {}", source, model->algorithm(), model->provenance.created);
  report.numbers = figures_of(*model);
  report.iterations = model->iterations;
  report.best_iteration = model->best_iteration;
  report.validated = !model->iterations.empty() && model->iterations.back().validation.has_value();
  report.user_counts = descending_row_sizes(model->history.view());
  report.item_counts = descending_row_sizes(by_item.view());
  for (const StageTime& stage : stages) {
    if (stage.seconds >= 0)
      report.stages.push_back({stage.name, stage.seconds, duration(stage.seconds)});
  }
  report.top_items = most_taken(*model, by_item.view());
  report.samples = make_samples(model, device);
  report.parameters = parameter_facts(*model);
  return report;
}

}  // namespace likewise::cli
