// SPDX-License-Identifier: Apache-2.0
/// From a search to its page: figures, the trials as a table, and charts of one question each.
#include <algorithm>
#include <optional>
#include <set>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "output/text.h"
#include "report/page.h"
#include "report/search_report.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

using Trials = std::vector<const TuneTrial*>;

[[nodiscard]] std::string metric_text(double value) { return fmt::format("{:.4f}", value); }

[[nodiscard]] std::string name_of(const TuneTrial& trial) {
  return std::string(algorithm_name(trial.params));
}

[[nodiscard]] Facts key_figures(const TuneResult& result) {
  const TuneTrial& best = *result.best();
  const std::string parts = result.parts_text(best);
  const std::string over = parts.empty() ? "" : ", " + parts;
  Facts facts{
      {fmt::format("{} of the best{}", result.metric.key, over),
       metric_text(TuneResult::value_of(best))},
      {"algorithm of the best", name_of(best)},
      {fmt::format("{} of the baseline, {}{}", result.metric.key, name_of(result.baseline), over),
       metric_text(result.baseline_beside(best))}};
  facts.emplace_back("trials", with_commas(std::ssize(result.trials)));
  facts.emplace_back("of search", duration(result.seconds));
  const std::ptrdiff_t failed =
      std::ranges::count_if(result.trials, [](const TuneTrial& one) { return !one.value; });
  if (failed > 0) facts.emplace_back("without a value", with_commas(failed));
  return facts;
}

/// What was searched of it: "factors 64, iterations 15".
[[nodiscard]] std::string searched_text(const TuneResult& result, const TuneTrial& trial) {
  std::vector<std::string> parts;
  for (const SearchedParameter& one : result.searched(trial)) {
    if (const auto value = shown_value(one, trial)) {
      parts.push_back(fmt::format("{} {}", one.name, *value));
    }
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

[[nodiscard]] std::vector<Column> trial_columns(const TuneResult& result) {
  std::vector<Column> columns{
      {"trial", Column::Kind::kText}, {"algorithm", Column::Kind::kText}, {result.metric.key}};
  if (result.final_parts > 0) {
    columns.push_back({fmt::format("mean of {} parts", result.final_parts)});
  }
  columns.push_back({"seconds"});
  columns.push_back({"parameters", Column::Kind::kList});
  return columns;
}

[[nodiscard]] std::vector<std::string> trial_row(const TuneResult& result, const TuneTrial& trial) {
  std::vector<std::string> row{trial.number == 0 ? "baseline" : std::to_string(trial.number),
                               name_of(trial), metric_text(*trial.value)};
  if (result.final_parts > 0) {
    row.push_back(trial.final_value ? metric_text(*trial.final_value) : "");
  }
  row.push_back(fmt::format("{:.3g}", trial.seconds));
  row.push_back(searched_text(result, trial));
  return row;
}

/// All trials with a value, the best first, and the baseline at its place among them.
[[nodiscard]] std::string trials_table(const TuneResult& result) {
  Trials order = result.ranked();
  const auto place = std::ranges::find_if(
      order, [&](const TuneTrial* trial) { return !result.beats_baseline(*trial); });
  PageTable table{trial_columns(result), {}, static_cast<std::size_t>(place - order.begin())};
  order.insert(place, &result.baseline);
  for (const TuneTrial* trial : order) table.rows.push_back(trial_row(result, *trial));
  return draw(table);
}

[[nodiscard]] std::string trials_section(const TuneResult& result) {
  const std::string sample = result.sample_text();
  std::string note = fmt::format(
      "{} on held-out interactions{}: {} is better. Seconds are those of training and measuring.",
      result.metric.key,
      sample.empty() ? "" : fmt::format(" of {}, the same for all trials", sample),
      higher_is_better(result.metric.name) ? "more" : "less");
  if (result.final_parts > 0) {
    note += fmt::format(" The best were measured on {} held-out parts.", result.final_parts);
  }
  if (const std::string users = not_ranked(result); !users.empty()) note += " " + users + ".";
  return section("All trials", note, trials_table(result), "wide long");
}

/// Nothing where there are no lines.
[[nodiscard]] std::string lines_section(const char* title, const char* note,
                                        const std::vector<std::string>& lines) {
  std::string list;
  for (const std::string& line : lines) list += fmt::format("<li>{}</li>\n", escape_html(line));
  if (list.empty()) return "";
  return section(title, note, fmt::format("<ul>\n{}</ul>\n", list), "wide");
}

[[nodiscard]] std::string lines_sections(const TuneResult& result) {
  return lines_section("Without a value", "Trials that were not trained or not measured, and why.",
                       result.failures()) +
         lines_section("Not searched", "Algorithms that had no trial, and why.", result.left_out) +
         lines_section(
             "Notes",
             "What is searched in place of what was asked for, and what does nothing for some.",
             result.notes);
}

/// Every trial, the best so far, and the baseline, against the seconds of the search.
[[nodiscard]] std::string time_chart(const TuneResult& result) {
  Trials order = result.ranked();
  std::ranges::stable_sort(order, {}, &TuneTrial::finished);
  LineChart chart{"seconds of the search", result.metric.key, {{"trials", {}, true}, {"best", {}}}};
  double best = 0.0;
  for (const TuneTrial* trial : order) {
    const double value = *trial->value;
    std::vector<std::pair<double, double>>& line = chart.series[1].points;
    if (line.empty() || is_better(result.metric, value, best)) best = value;
    chart.series[0].points.emplace_back(trial->finished, value);
    line.emplace_back(trial->finished, best);
  }
  chart.series.push_back(
      {name_of(result.baseline),
       {{0.0, *result.baseline.value}, {result.seconds, *result.baseline.value}}});
  chart.x_from_zero = true;
  return draw(chart);
}

[[nodiscard]] std::string importance_section(const TuneResult& result) {
  std::vector<Bar> bars;
  for (const ParameterImportance& one : result.importance()) {
    bars.push_back({fmt::format("{}: {}", one.algorithm, one.parameter), one.share,
                    fmt::format("{:.2f}", one.share)});
  }
  if (bars.empty()) return "";
  return section("Importance",
                 "How much of the difference between an algorithm's trials a parameter explains: "
                 "0 nothing, 1 all.",
                 draw(bars));
}

/// The searched parameters of an algorithm.
[[nodiscard]] std::vector<SearchedParameter> searched_by(const TuneResult& result,
                                                         const Trials& trials) {
  std::vector<SearchedParameter> all;
  for (const TuneTrial* trial : trials) {
    for (const SearchedParameter& one : result.searched(*trial)) {
      if (std::ranges::find(all, one.name, &SearchedParameter::name) == all.end()) {
        all.push_back(one);
      }
    }
  }
  return all;
}

/// The metric of each trial against a number.
[[nodiscard]] std::string number_chart(const TuneResult& result, const SearchedParameter& parameter,
                                       const Trials& ranked) {
  LineChart chart{std::string(parameter.name),
                  result.metric.key,
                  {{"trials", {}, true}, {"the best", {}, true}}};
  chart.log_x = parameter.log;
  for (const TuneTrial* trial : ranked) {
    const std::optional<std::string> value = shown_value(parameter, *trial);
    if (!value) continue;
    chart.series[trial == ranked.front() ? 1 : 0].points.emplace_back(std::stod(*value),
                                                                      *trial->value);
  }
  return fmt::format("<div>{}</div>\n", draw(chart));
}

/// The best that was reached with each choice. `ranked` has the best first.
[[nodiscard]] std::string choice_chart(const TuneResult& result, const SearchedParameter& parameter,
                                       const Trials& ranked) {
  std::vector<Bar> bars;
  for (const TuneTrial* trial : ranked) {
    const std::optional<std::string> value = shown_value(parameter, *trial);
    if (!value) continue;
    const auto known = std::ranges::find(bars, *value, &Bar::label);
    if (known == bars.end()) {
      bars.push_back({*value, *trial->value, ""});
    } else if (is_better(result.metric, *trial->value, known->value)) {
      known->value = *trial->value;
    }
  }
  for (Bar& bar : bars) bar.text = metric_text(bar.value);
  return fmt::format("<div><h3>{}: the best of each choice</h3>{}</div>\n",
                     escape_html(parameter.name), draw(bars));
}

[[nodiscard]] bool differs(const SearchedParameter& parameter, const Trials& trials) {
  std::set<std::string> values;
  for (const TuneTrial* trial : trials) {
    if (const auto value = shown_value(parameter, *trial)) values.insert(*value);
  }
  return values.size() > 1;
}

[[nodiscard]] std::string algorithm_section(const TuneResult& result, const Trials& ranked) {
  std::string charts;
  for (const SearchedParameter& one : searched_by(result, ranked)) {
    if (!differs(one, ranked)) continue;
    charts +=
        one.choices.empty() ? number_chart(result, one, ranked) : choice_chart(result, one, ranked);
  }
  if (charts.empty()) return "";
  const std::string title =
      fmt::format("Trials of {}: {}, the best {}", name_of(*ranked.front()),
                  with_commas(std::ssize(ranked)), metric_text(*ranked.front()->value));
  return folded_section(
      title,
      fmt::format("What trials reached, {}, against one parameter at a time.", result.metric.key),
      fmt::format("<div class='smalls'>\n{}</div>\n", charts),
      std::ranges::find(ranked, result.best()) != ranked.end());
}

/// The algorithm of the best trial first.
[[nodiscard]] std::string algorithm_sections(const TuneResult& result) {
  std::vector<Trials> by_algorithm;
  for (const TuneTrial* trial : result.ranked()) {
    const auto known = std::ranges::find_if(
        by_algorithm, [&](const Trials& one) { return name_of(*one.front()) == name_of(*trial); });
    if (known == by_algorithm.end()) {
      by_algorithm.push_back({trial});
    } else {
      known->push_back(trial);
    }
  }
  std::string sections;
  for (const Trials& ranked : by_algorithm) sections += algorithm_section(result, ranked);
  return sections;
}

}  // namespace

std::string SearchReport::as_page() const {
  const std::string importance = importance_section(result);
  std::string cards = trials_section(result) + lines_sections(result);
  cards += section("The best again", winner_text(), command_block(command), "wide");
  cards += section("Found when", "What each trial reached, at the time of its last training.",
                   time_chart(result), importance.empty() ? "wide" : "");
  cards += importance + algorithm_sections(result);
  const std::string warning = result.warning();
  return page(
      "Search for parameters", source + (warning.empty() ? "" : " · " + warning),
      fmt::format("{}<div class='cards'>\n{}</div>\n", figures(key_figures(result)), cards));
}

}  // namespace likewise::cli
