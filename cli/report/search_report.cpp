// SPDX-License-Identifier: Apache-2.0
#include "report/search_report.h"

#include <algorithm>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "options/training_options.h"
#include "output/text.h"

namespace likewise::cli {
namespace {

using Json = nlohmann::ordered_json;

constexpr std::size_t kShownInText = 5;

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
[[nodiscard]] std::vector<std::vector<std::string>> leader_board(const TuneResult& result) {
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
  for (std::size_t i = 0; i < std::min(kShownInText, ranked.size()); ++i) {
    if (!shown && !result.beats_baseline(*ranked[i])) {
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
    const std::optional<std::string> text = shown_value(one, trial);
    if (!text) continue;
    out[std::string(one.name)] = one.choices.empty() ? Json::parse(*text) : Json(*text);
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

}  // namespace

std::string best_so_far(const TuneResult& result) {
  const TuneTrial* best = result.best();
  if (best == nullptr) return "none yet";
  const std::string parts = result.parts_text(*best);
  return fmt::format("{} {:.4f}{} by {}", result.metric.key, TuneResult::value_of(*best),
                     parts.empty() ? "" : fmt::format(" ({})", parts),
                     algorithm_name(best->params));
}

std::optional<std::string> shown_value(const SearchedParameter& parameter, const TuneTrial& trial) {
  std::string text = parameter_text(trial.params, parameter.name);
  if (text == "none" && parameter.choices.empty()) return {};
  if (!parameter_needs(trial.params, parameter.name).empty()) return {};
  return text;
}

std::string not_ranked(const TuneResult& result) {
  return text_of_not_ranked(result.users_not_ranked, result.validation_users);
}

std::string SearchReport::winner_text() const {
  const TuneTrial& best = *result.best();
  const TuneTrial& first = *result.ranked().front();
  if (&best == &first) return model_text();
  return fmt::format(
      "Trial {} is better than the defaults, trial {}, by less than 0.5 %: the defaults are kept. "
      "{}",
      first.number, best.number, model_text());
}

std::string SearchReport::model_text() const {
  if (!result.on_everything || !result.shortened.empty()) {
    return fmt::format("As {}. The best, trained on {} to its end:", result.shortened,
                       validation.empty() ? "all interactions" : source);
  }
  std::string text = "The model was trained on all interactions, those held out included.";
  if (!validation.empty()) {
    text = fmt::format("The model was trained on {} and {} together.", source, validation);
  }
  if (parameters_text(result.model->params) != parameters_text(result.best()->params)) {
    text += " Parameters that depend on the data were adapted to all of it.";
  }
  return text + (validation.empty() ? " To train it again:"
                                    : fmt::format(" The same parameters on {} alone:", source));
}

std::string SearchReport::as_text() const {
  const std::vector<std::vector<std::string>> rows = leader_board(result);
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
  if (const std::string users = not_ranked(result); !users.empty()) text += "\n" + users + ".\n";
  if (const std::string sample = result.sample_text(); !sample.empty()) {
    text += fmt::format("\nMeasured on {}, the same for all trials.\n", sample);
  }
  if (const std::vector<std::string> reasons = result.failures(); !reasons.empty()) {
    text += fmt::format("\nWithout a value:\n  {}\n", fmt::join(reasons, "\n  "));
  }
  return text + fmt::format("\n{}\n\n{}\n", winner_text(), command);
}

Json SearchReport::as_json() const {
  Json out = {{"metric", result.metric.key},
              {"higher_is_better", higher_is_better(result.metric.name)},
              {"budget", budget},
              {"seconds", result.seconds},
              {"final_parts", result.final_parts},
              {"validation_users", result.validation_users},
              {"users_not_ranked", result.users_not_ranked},
              {"measured_users", result.measured_users},
              {"baseline", trial_json(result, result.baseline)},
              {"beats_baseline", result.beats_baseline()},
              {"best", trial_json(result, result.winner())},
              {"trained_on", validation.empty() || !result.on_everything
                                 ? Json::array({source})
                                 : Json::array({source, validation})},
              {"command", command},
              {"left_out", result.left_out},
              {"notes", result.notes},
              {"warning", result.warning()}};
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

}  // namespace likewise::cli
