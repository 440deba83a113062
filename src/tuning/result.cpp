// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/parameters/rules.h"
#include "likewise/tune.h"
#include "tuning/tune_search.h"

namespace likewise {
namespace {

constexpr std::size_t kFewestTrials = 8;
constexpr std::size_t kGroups = 4;
/// What is better than the defaults by less stays behind them.
constexpr double kLuck = 0.005;

/// Those that have a value, the best value first.
[[nodiscard]] std::vector<const TuneTrial*> by_value(const TuneResult& result) {
  std::vector<const TuneTrial*> all;
  for (const TuneTrial& trial : result.trials) {
    if (trial.value) all.push_back(&trial);
  }
  std::ranges::stable_sort(all, [&](const TuneTrial* a, const TuneTrial* b) {
    return is_better(result.metric, *a->value, *b->value);
  });
  return all;
}

/// Of each trial, the best value first; equal values share the mean of their places.
[[nodiscard]] std::vector<double> ranks_of(const std::vector<const TuneTrial*>& ranked) {
  std::vector<double> ranks(ranked.size());
  for (std::size_t first = 0, last = 0; first < ranked.size(); first = last) {
    while (last < ranked.size() && *ranked[last]->value == *ranked[first]->value) ++last;
    const double middle = (static_cast<double>(first) + static_cast<double>(last) - 1.0) / 2.0;
    std::fill(ranks.begin() + static_cast<std::ptrdiff_t>(first),
              ranks.begin() + static_cast<std::ptrdiff_t>(last), middle);
  }
  return ranks;
}

/// The group of each trial: one for each choice, or quarters of the trials by the number. Equal
/// numbers are in one group; "none" is a number below all.
[[nodiscard]] std::vector<std::size_t> groups_of(const std::vector<const TuneTrial*>& trials,
                                                 const SearchedParameter& parameter) {
  std::map<std::string, std::size_t> names;
  std::vector<std::size_t> groups(trials.size());
  if (!parameter.choices.empty()) {
    for (std::size_t i = 0; i < trials.size(); ++i) {
      const std::string text = parameter_text(trials[i]->params, parameter.name);
      groups[i] = names.emplace(text, names.size()).first->second;
    }
    return groups;
  }
  std::vector<double> numbers;
  for (const TuneTrial* trial : trials) {
    const std::string text = parameter_text(trial->params, parameter.name);
    double number = -1.0;
    if (text != "none") (void)std::from_chars(text.data(), text.data() + text.size(), number);
    numbers.push_back(number);
  }
  for (std::size_t i = 0; i < trials.size(); ++i) {
    const auto below = static_cast<std::size_t>(
        std::ranges::count_if(numbers, [&](double other) { return other < numbers[i]; }));
    groups[i] = below * kGroups / numbers.size();
  }
  return groups;
}

/// Kelley's epsilon squared: the share of the variance that groups explain, less what they would
/// by chance: 1 - (S_within / (n - g)) / (S_total / (n - 1)), at least 0.
[[nodiscard]] double explained(const std::vector<double>& values,
                               const std::vector<std::size_t>& groups) {
  std::map<std::size_t, std::pair<double, double>> sums;  // of values, of ones
  for (std::size_t i = 0; i < values.size(); ++i) {
    sums[groups[i]].first += values[i];
    sums[groups[i]].second += 1.0;
  }
  const auto n = static_cast<double>(values.size());
  const auto g = static_cast<double>(sums.size());
  if (g < 2.0 || g >= n) return 0.0;
  const double mean = std::accumulate(values.begin(), values.end(), 0.0) / n;
  double total = 0.0;
  double within = 0.0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto& [sum, count] = sums[groups[i]];
    total += (values[i] - mean) * (values[i] - mean);
    within += (values[i] - sum / count) * (values[i] - sum / count);
  }
  if (total <= 0.0) return 0.0;
  return std::max(0.0, 1.0 - (within / (n - g)) / (total / (n - 1.0)));
}

/// Whether the best is better than this one by less than what is luck.
[[nodiscard]] bool is_about(const NamedMetric& metric, const TuneTrial& one,
                            const TuneTrial& best) {
  if (is_of_ratings(metric)) return false;
  if (one.final_value.has_value() != best.final_value.has_value()) return false;
  return TuneResult::value_of(best) <= (1.0 + kLuck) * TuneResult::value_of(one);
}

}  // namespace

std::vector<const TuneTrial*> TuneResult::ranked() const {
  std::vector<const TuneTrial*> all = by_value(*this);
  std::ranges::stable_sort(all, [&](const TuneTrial* a, const TuneTrial* b) {
    if (a->final_value && b->final_value)
      return is_better(metric, *a->final_value, *b->final_value);
    return a->final_value.has_value() && !b->final_value;
  });
  return all;
}

const TuneTrial* TuneResult::best() const {
  const std::vector<const TuneTrial*> all = ranked();
  if (all.empty()) return nullptr;
  const auto usual_one = std::ranges::find(all, choice, &TuneTrial::number);
  return usual_one != all.end() && is_about(metric, **usual_one, *all.front()) ? *usual_one
                                                                               : all.front();
}

TuneTrial TuneResult::winner() const {
  TuneTrial trial = trials[static_cast<std::size_t>(model_trial) - 1];
  trial.params = model->params;
  return trial;
}

std::vector<SearchedParameter> TuneResult::searched(const TuneTrial& trial) const {
  const auto found = std::ranges::find(usual, algorithm_name(trial.params), algorithm_name);
  if (found == usual.end()) return {};
  return searched_parameters(trial.params, *found);
}

double TuneResult::value_of(const TuneTrial& trial) {
  return trial.final_value ? *trial.final_value : *trial.value;
}

double TuneResult::baseline_beside(const TuneTrial& trial) const {
  return trial.final_value && baseline.final_value ? *baseline.final_value : *baseline.value;
}

std::string TuneResult::parts_text(const TuneTrial& trial) const {
  return trial.final_value ? fmt::format("mean of {} parts", final_parts) : "";
}

bool TuneResult::beats_baseline(const TuneTrial& trial) const {
  return is_better(metric, value_of(trial), baseline_beside(trial));
}

bool TuneResult::beats_baseline() const {
  const TuneTrial* winner = best();
  return winner != nullptr && baseline.value && beats_baseline(*winner);
}

std::string TuneResult::warning() const {
  if (beats_baseline() || best() == nullptr) return shortened;
  const std::string parts = parts_text(*best());
  return fmt::format(
      "nothing beats the baseline: {} {:.4f}{} is no better than {:.4f} of {}; look at the data, "
      "or search longer{}{}",
      metric.key, value_of(*best()), parts.empty() ? "" : fmt::format(" ({})", parts),
      baseline_beside(*best()), algorithm_name(baseline.params), shortened.empty() ? "" : "; ",
      shortened);
}

std::vector<std::string> TuneResult::failures() const {
  std::vector<std::pair<std::string, int>> reasons;  // in the order of the trials
  for (const TuneTrial& trial : trials) {
    if (trial.value) continue;
    const std::string reason = fmt::format("{}: {}", algorithm_name(trial.params), trial.failure);
    const auto known = std::ranges::find(reasons, reason, &std::pair<std::string, int>::first);
    known == reasons.end() ? (void)reasons.emplace_back(reason, 1) : (void)++known->second;
  }
  std::vector<std::string> lines;
  for (const auto& [reason, count] : reasons) {
    lines.push_back(count == 1 ? reason : fmt::format("{} ({} trials)", reason, count));
  }
  return lines;
}

std::string TuneResult::sample_text() const {
  const Index users = validation_users - users_not_ranked;
  if (measured_users == users) return {};
  return fmt::format("{} of {} users{}", measured_users, users,
                     users_not_ranked > 0 ? " with a history" : "");
}

std::vector<ParameterImportance> TuneResult::importance() const {
  std::map<std::string, std::vector<const TuneTrial*>> by_algorithm;
  for (const TuneTrial* trial : by_value(*this)) {
    by_algorithm[std::string(algorithm_name(trial->params))].push_back(trial);
  }
  std::vector<ParameterImportance> all;
  for (const auto& [algorithm, of_it] : by_algorithm) {
    if (of_it.size() < kFewestTrials) continue;
    for (const SearchedParameter& parameter : searched(*of_it.front())) {
      if (parameter.name == "iterations") continue;
      // Where a parameter has no effect its value says nothing.
      std::vector<const TuneTrial*> with_effect;
      for (const TuneTrial* trial : of_it) {
        if (parameter_needs(trial->params, parameter.name).empty()) with_effect.push_back(trial);
      }
      if (with_effect.size() < kFewestTrials) continue;
      all.push_back({algorithm, std::string(parameter.name),
                     explained(ranks_of(with_effect), groups_of(with_effect, parameter))});
    }
  }
  std::ranges::stable_sort(all, std::ranges::greater{}, &ParameterImportance::share);
  return all;
}

}  // namespace likewise
