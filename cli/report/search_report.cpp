// SPDX-License-Identifier: Apache-2.0
#include "report/search_report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "options/training_options.h"
#include "output/text.h"
#include "report/page.h"
#include "report/svg.h"

namespace likewise::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownInText = 5;
constexpr std::size_t kShownOnPage = 20;

/// The options except for "--algorithm NAME", which has a column of its own.
[[nodiscard]] std::string parameters_text(const TrainingParams& params) {
  const std::string text = options_text(params);
  const std::size_t name = std::string("--algorithm ").size();
  const std::size_t end = text.find(' ', name);
  return end == std::string::npos ? "" : text.substr(end + 1);
}

/// Of the column of final values.
[[nodiscard]] std::string final_header(const TuneResult& result) {
  return result.final_parts == 0 ? "final" : fmt::format("mean of {}", result.final_parts);
}

/// Header, the best trials and, at its place among them, the baseline.
[[nodiscard]] std::vector<std::vector<std::string>> leader_board(const TuneResult& result,
                                                                 std::size_t most) {
  std::vector<std::vector<std::string>> rows{
      {"trial", final_header(result), result.metric.key, "seconds", "algorithm", "parameters"}};
  const auto add = [&](const TuneTrial& trial) {
    const bool baseline = trial.number == 0;
    rows.push_back({baseline ? "baseline" : std::to_string(trial.number),
                    trial.final_value ? fmt::format("{:.4f}", *trial.final_value) : "",
                    fmt::format("{:.4f}", *trial.value), fmt::format("{:.3g}", trial.seconds),
                    std::string(algorithm_name(trial.params)), parameters_text(trial.params)});
  };
  const std::vector<const TuneTrial*> ranked = result.ranked();
  bool shown = false;
  for (std::size_t i = 0; i < std::min(most, ranked.size()); ++i) {
    if (!shown && !is_better(result.metric, *ranked[i]->value, *result.baseline.value)) {
      add(result.baseline);
      shown = true;
    }
    add(*ranked[i]);
  }
  if (!shown) add(result.baseline);
  return rows;
}

[[nodiscard]] Json parameters_json(const TuneResult& result, const TuneTrial& trial) {
  Json out = Json::object();
  for (const SearchedParameter& one : result.searched(trial)) {
    const std::string text = parameter_text(trial.params, one.name);
    if (text == "none" || !parameter_needs(trial.params, one.name).empty()) continue;
    out[std::string(one.name)] = one.choices.empty() ? Json::parse(text) : Json(text);
  }
  return out;
}

[[nodiscard]] Json trial_json(const TuneResult& result, const TuneTrial& trial) {
  Json out = {{"trial", trial.number},
              {"algorithm", algorithm_name(trial.params)},
              {"origin", trial.origin},
              {"value", trial.value ? Json(*trial.value) : Json(nullptr)}};
  if (trial.final_value) out["final_value"] = *trial.final_value;
  if (trial.iterations > 0) {
    out["iterations"] = trial.iterations;
    out["best_iteration"] = trial.best_iteration;
  }
  out["seconds"] = trial.seconds;
  out["finished"] = trial.finished;
  if (!trial.failure.empty()) out["failure"] = trial.failure;
  out["parameters"] = parameters_json(result, trial);
  return out;
}

/// Every trial, the best so far, and the baseline, against the seconds of the search.
[[nodiscard]] std::string time_chart(const TuneResult& result) {
  std::vector<const TuneTrial*> order;
  for (const TuneTrial& trial : result.trials) {
    if (trial.value) order.push_back(&trial);
  }
  std::ranges::stable_sort(order, {}, &TuneTrial::finished);
  LineChart chart{"seconds", result.metric.key, {{"trials", {}, true}, {"best", {}}}};
  double best = 0.0;
  for (const TuneTrial* trial : order) {
    const double value = *trial->value;
    std::vector<std::pair<double, double>>& line = chart.series[1].points;
    if (line.empty() || is_better(result.metric, value, best)) best = value;
    chart.series[0].points.emplace_back(trial->finished, value);
    line.emplace_back(trial->finished, best);
  }
  const std::string name(algorithm_name(result.baseline.params));
  chart.series.push_back(
      {name, {{0.0, *result.baseline.value}, {result.seconds, *result.baseline.value}}});
  chart.x_from_zero = true;
  return draw(chart);
}

[[nodiscard]] std::string importance_chart(const TuneResult& result) {
  std::vector<Bar> bars;
  for (const ParameterImportance& one : result.importance()) {
    bars.push_back({fmt::format("{}: {}", one.algorithm, one.parameter), one.share,
                    fmt::format("{:.2f}", one.share)});
  }
  return draw(bars);
}

/// Where a value is on its axis, as searches place it; below 0 where it is not.
[[nodiscard]] double place_of(const SearchedParameter& axis, const TrainingParams& params) {
  const std::string text = parameter_text(params, axis.name);
  if (!parameter_needs(params, axis.name).empty() || text == "none") return -1.0;
  if (!axis.choices.empty()) {
    const auto found = std::ranges::find(axis.choices, text);
    if (found == axis.choices.end()) return -1.0;
    const auto last = static_cast<double>(axis.choices.size() - 1);
    return last == 0.0 ? 0.5 : static_cast<double>(found - axis.choices.begin()) / last;
  }
  const double value = std::stod(text);
  if (axis.log && value <= 0.0) return -1.0;
  const double share = axis.log ? std::log(value / axis.low) / std::log(axis.high / axis.low)
                                : (value - axis.low) / (axis.high - axis.low);
  return share >= -0.001 && share <= 1.001 ? std::clamp(share, 0.0, 1.0) : -1.0;
}

/// The searched parameters of an algorithm; a range, or choices, that depend on others are as wide
/// as all that the trials had.
[[nodiscard]] std::vector<SearchedParameter> axes_of(const TuneResult& result,
                                                     const std::vector<const TuneTrial*>& trials) {
  std::vector<SearchedParameter> axes;
  for (const TuneTrial* trial : trials) {
    for (const SearchedParameter& one : result.searched(*trial)) {
      const auto known = std::ranges::find(axes, one.name, &SearchedParameter::name);
      if (known == axes.end()) {
        axes.push_back(one);
      } else {
        known->low = std::min(known->low, one.low);
        known->high = std::max(known->high, one.high);
        if (one.choices.size() > known->choices.size()) known->choices = one.choices;
      }
    }
  }
  return axes;
}

[[nodiscard]] std::string parallel_chart(const TuneResult& result,
                                         const std::vector<const TuneTrial*>& ranked) {
  const std::vector<SearchedParameter> axes = axes_of(result, ranked);
  ParallelChart chart;
  for (const SearchedParameter& axis : axes) {
    const bool choices = !axis.choices.empty();
    chart.axes.push_back({std::string(axis.name),
                          choices ? axis.choices.front() : fmt::format("{:.3g}", axis.low),
                          choices ? axis.choices.back() : fmt::format("{:.3g}", axis.high)});
  }
  chart.axes.push_back({"place by " + result.metric.key, std::to_string(ranked.size()), "1"});
  const auto last = static_cast<double>(std::max<std::size_t>(1, ranked.size() - 1));
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    ParallelChart::Line line;
    for (const SearchedParameter& axis : axes) {
      line.places.push_back(place_of(axis, ranked[i]->params));
    }
    line.strength = 1.0 - static_cast<double>(i) / last;
    line.places.push_back(line.strength);
    line.marked = i == 0;
    chart.lines.push_back(std::move(line));
  }
  return draw(chart);
}

[[nodiscard]] std::string parallel_sections(const TuneResult& result) {
  std::map<std::string, std::vector<const TuneTrial*>> by_algorithm;
  for (const TuneTrial* trial : result.ranked()) {
    by_algorithm[std::string(algorithm_name(trial->params))].push_back(trial);
  }
  std::string sections;
  for (const auto& [algorithm, ranked] : by_algorithm) {
    sections +=
        section(fmt::format("Trials of {}", algorithm),
                "A line for each trial, the stronger the better; the best stands out. Where "
                "a parameter had no effect, or another value than those searched, the line "
                "leaves it out.",
                parallel_chart(result, ranked), "wide");
  }
  return sections;
}

[[nodiscard]] Offset without_value(const TuneResult& result) {
  return std::ranges::count_if(result.trials, [](const TuneTrial& one) { return !one.value; });
}

}  // namespace

std::string best_so_far(const TuneResult& result) {
  const TuneTrial* best = result.best();
  if (best == nullptr) return "none yet";
  return fmt::format("{} {:.4f} by {}", result.metric.key, *best->value,
                     algorithm_name(best->params));
}

namespace {

/// What the winner was trained on, and what the command leaves out of that.
[[nodiscard]] std::string winner_text(const SearchReport& report) {
  const TuneResult& result = report.result;
  if (!result.on_everything || !result.shortened.empty()) {
    return fmt::format("As {}. The best, trained on {} to its end:", result.shortened,
                       report.validation.empty() ? "all interactions" : report.source);
  }
  std::string text = "The model was trained on all interactions, those held out included.";
  if (!report.validation.empty()) {
    text = fmt::format("The model was trained on {} and {} together.", report.source,
                       report.validation);
  }
  if (parameters_text(result.model->params) != parameters_text(result.best()->params)) {
    text +=
        " What was searched about what suits the part that trials saw is now as far from what "
        "suits all.";
  }
  return text + (report.validation.empty()
                     ? " Again:"
                     : fmt::format(" The same parameters on {} alone:", report.source));
}

}  // namespace

std::string SearchReport::as_text() const {
  const std::vector<std::vector<std::string>> rows = leader_board(result, kShownInText);
  const std::vector<std::size_t> columns = result.final_parts == 0
                                               ? std::vector<std::size_t>{4, 0, 2, 3}
                                               : std::vector<std::size_t>{4, 0, 1, 2, 3};
  const auto chosen = [&](const std::vector<std::string>& row) {
    std::vector<std::string> cells;
    for (const std::size_t column : columns) cells.push_back(row[column]);
    return cells;
  };
  TextTable table(chosen(rows[0]));
  for (std::size_t r = 1; r < rows.size(); ++r) table.add(chosen(rows[r]));
  std::string text = table.text(0);
  if (const std::string sample = result.sample_text(); !sample.empty()) {
    text += fmt::format("\nMeasured on {}, the same for all trials.\n", sample);
  }
  if (const std::vector<std::string> reasons = result.failures(); !reasons.empty()) {
    text += fmt::format("\nWithout a value:\n  {}\n", fmt::join(reasons, "\n  "));
  }
  return text + fmt::format("\n{}\n\n{}\n", winner_text(*this), command);
}

Json SearchReport::as_json() const {
  Json out = {{"metric", result.metric.key},
              {"higher_is_better", higher_is_better(result.metric.name)},
              {"budget", budget},
              {"seconds", result.seconds},
              {"final_parts", result.final_parts},
              {"validation_users", result.validation_users},
              {"measured_users", result.measured_users},
              {"baseline", trial_json(result, result.baseline)},
              {"beats_baseline", result.beats_baseline()},
              {"best", trial_json(result, result.winner())},
              {"trained_on", validation.empty() || !result.on_everything
                                 ? Json::array({source})
                                 : Json::array({source, validation})},
              {"command", command}};
  if (!result.shortened.empty()) out["shortened"] = result.shortened;
  out["importance"] = Json::array();
  for (const ParameterImportance& one : result.importance()) {
    out["importance"].push_back(
        {{"algorithm", one.algorithm}, {"parameter", one.parameter}, {"share", one.share}});
  }
  out["trials"] = Json::array();
  for (const TuneTrial& trial : result.trials) out["trials"].push_back(trial_json(result, trial));
  return out;
}

std::string SearchReport::as_page() const {
  const std::vector<std::vector<std::string>> rows = leader_board(result, kShownOnPage);
  std::string table = "<table>" + table_row(rows[0], "th");
  for (std::size_t r = 1; r < rows.size(); ++r) table += table_row(rows[r], "td");
  const bool more = higher_is_better(result.metric.name);
  const std::string warning = result.warning();
  const std::string sample = result.sample_text();
  std::string cards = section(
      "The best trials",
      fmt::format(
          "{} on held-out interactions{}; {} is better.{} Seconds are those of training and "
          "validation.",
          result.metric.key,
          sample.empty() ? "" : fmt::format(" of {}, the same for all trials", sample),
          more ? "more" : "less",
          result.final_parts == 0
              ? ""
              : fmt::format(" The best were measured on {} held-out parts.", result.final_parts)),
      table + "</table>\n", "wide");
  if (const std::vector<std::string> reasons = result.failures(); !reasons.empty()) {
    std::string list;
    for (const std::string& reason : reasons)
      list += fmt::format("<li>{}</li>\n", escape_html(reason));
    cards += section("Without a value", "Trials that were not trained or not measured, and why.",
                     fmt::format("<ul>\n{}</ul>\n", list), "wide");
  }
  cards += section(
      "The winner again", winner_text(*this),
      fmt::format("<pre style='white-space: pre-wrap'>{}</pre>\n", escape_html(command)), "wide");
  cards += section("Found when", "The best value of each trial, when it was last trained.",
                   time_chart(result));
  if (!result.importance().empty()) {
    cards += section("Importance",
                     "How much of the trials' places the parameter explains, from 0 to 1 "
                     "(corrected correlation ratio). Parameters whose range is narrow matter less.",
                     importance_chart(result));
  }
  cards += parallel_sections(result);
  std::string subtitle =
      fmt::format("{} · {} in {} · best {}", source, counted(std::ssize(result.trials), "trial"),
                  duration(result.seconds), best_so_far(result));
  if (without_value(result) > 0) {
    subtitle += fmt::format(" · {} without a value", without_value(result));
  }
  if (!warning.empty()) subtitle += " · " + warning;
  return page("Search for parameters", subtitle,
              fmt::format("<div class='cards'>\n{}</div>\n", cards));
}

}  // namespace likewise::cli
