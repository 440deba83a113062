// SPDX-License-Identifier: Apache-2.0
#include "likewise/tune.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <exception>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/algorithm.h"
#include "algorithms/parameters/rules.h"
#include "evaluation/metric_table.h"
#include "likewise/error.h"
#include "training/half_life.h"
#include "training/merge_interactions.h"
#include "training/train.h"
#include "tuning/search_space.h"
#include "tuning/tune_search.h"

namespace likewise {
namespace {

constexpr int kMostTrials = 1'000'000;

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

[[nodiscard]] std::string text_of(Feedback feedback) {
  return std::string(kFeedbackNames[static_cast<std::size_t>(feedback)]);
}

void check_metric(const NamedMetric& metric, Feedback feedback) {
  if (!find_metric(metric.name).of_quality) {
    fail(
        fmt::format("metric {}: it does not say how good lists are; search by ndcg, recall, map or "
                    "another that compares them with held-out items",
                    metric.key));
  }
  if (is_of_ratings(metric) && feedback == Feedback::kImplicit) {
    fail(
        fmt::format("metric {} compares predicted ratings: it needs feedback explicit; implicit "
                    "feedback is measured by lists, as ndcg@10",
                    metric.key));
  }
}

/// Both parts, to train the winner on.
[[nodiscard]] Interactions united(const Interactions& data, const Interactions& more,
                                  Duplicates duplicates) {
  UnionOfIds users = unite_ids(data.users, more.users);
  UnionOfIds items = unite_ids(data.items, more.items);
  Interactions all;
  all.by_user =
      merge_matrices(data.by_user.view(), more.by_user.view(), users, items, duplicates).matrix;
  all.users = std::move(users.ids);
  all.items = std::move(items.ids);
  all.faded = data.faded || more.faded;
  return all;
}

/// Errors of a split say which one it is, and its options are those of the validation part.
template <class Work>
void of_validation(const Work& work) {
  const auto of_search = [](std::string_view name, std::string_view value) {
    if (name == "test") name = "validation_share";
    if (name == "method") name = "validation_method";
    return mention(name, value);
  };
  try {
    work();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("the validation part: {}", error.message(of_search)));
  }
}

/// The trial's parameters for all the data.
[[nodiscard]] TrainingParams for_all(const TuneTrial& trial, const TuneResult& result,
                                     Feedback feedback, const Interactions& all) {
  const std::string_view algorithm = algorithm_name(trial.params);
  const TrainingParams usual =
      with_data_defaults(all.by_user.view(), default_params(algorithm, feedback));
  TrainingParams params =
      moved(trial.params, *std::ranges::find(result.usual, algorithm, algorithm_name), usual);
  if (trial.number == result.choice && iterates(params)) {
    set_parameter(params, "iterations", parameter_text(usual, "iterations"));
  }
  return params;
}

[[nodiscard]] ModelSearch note_of(const TuneResult& result, const TuneOptions& options,
                                  const TuneRun& run) {
  ModelSearch note;
  note.metric = result.metric.key;
  const TuneTrial winner = result.winner();
  note.value = TuneResult::value_of(winner);
  note.baseline = algorithm_name(result.baseline.params);
  note.baseline_value = result.baseline_beside(winner);
  note.trials = static_cast<int>(result.trials.size());
  note.seconds = result.seconds;
  note.budget = options.budget.text;
  note.validation = run.validation != nullptr ? run.validation_source : spread_text(options.split);
  if (const std::string parts = result.parts_text(winner); !parts.empty()) {
    note.validation += ", " + parts;
  }
  if (const std::string sample = result.sample_text(); !sample.empty()) {
    note.validation += ", " + sample;
  }
  if (result.users_not_ranked > 0) {
    note.validation += "; " + text_of_not_ranked(result.users_not_ranked, result.validation_users);
  }
  note.seed = options.seed;
  return note;
}

}  // namespace

TuneBudget parse_budget(const std::string& text) {
  const auto refuse = [&](const char* why) {
    fail(
        fmt::format("budget '{}': {}; give a number of trials, as 200, or a time, as 30s, 10m or "
                    "1h",
                    text, why));
  };
  TuneBudget budget;
  budget.text = text;
  double value = 0.0;
  const char* const end = text.data() + text.size();
  const auto [rest, fault] = std::from_chars(text.data(), end, value, std::chars_format::fixed);
  if (fault != std::errc{} || !std::isfinite(value)) refuse("it begins with no number");
  const std::string_view unit(rest, static_cast<std::size_t>(end - rest));
  if (value <= 0.0) refuse("nothing can be searched in that");
  if (unit.empty()) {
    if (value != std::floor(value) || value > kMostTrials) refuse("no whole number up to 1000000");
    budget.trials = static_cast<int>(value);
    return budget;
  }
  constexpr std::array<std::pair<std::string_view, double>, 3> kUnits{
      {{"s", 1.0}, {"m", 60.0}, {"h", 3600.0}}};
  const auto* found = std::ranges::find(kUnits, unit, &std::pair<std::string_view, double>::first);
  if (found == kUnits.end()) refuse("there is no such unit");
  budget.seconds = value * found->second;
  return budget;
}

std::vector<std::string_view> tuned_algorithms(Feedback feedback, bool has_features) {
  std::vector<std::string_view> names;
  for (const std::string_view name : algorithm_names()) {
    const TrainingParams params = default_params(name, feedback);
    if (has_features && !algorithm_of(params)->learns_factors()) continue;
    if (feedback_of(params) == feedback && !searched_parameters(params, params).empty()) {
      names.push_back(name);
    }
  }
  return names;
}

TrainedAlgorithms trained_algorithms(Feedback feedback, const OpenToTrain& open,
                                     bool has_features) {
  TrainedAlgorithms all;
  std::exception_ptr first;
  const std::vector<std::string_view> names = tuned_algorithms(feedback, has_features);
  std::vector<std::string_view> without = tuned_algorithms(feedback);
  std::erase_if(without,
                [&](std::string_view name) { return std::ranges::count(names, name) > 0; });
  if (!without.empty()) {
    all.left_out.push_back(
        fmt::format("{}: without factors, which features are about", fmt::join(without, ", ")));
  }
  for (const std::string_view name : names) {
    try {
      (void)open(default_params(name, feedback), {});
      all.algorithms.emplace_back(name);
    } catch (const Error& error) {
      if (!first) first = std::current_exception();
      all.left_out.push_back(fmt::format("{}: {}", name, error.message()));
    }
  }
  if (all.algorithms.empty()) std::rethrow_exception(first);
  return all;
}

void TuneOptions::validate() const {
  check_metric(metric_of(*this), feedback);
  const std::vector<std::string_view> known = tuned_algorithms(feedback, has_features);
  for (auto name = algorithms.begin(); name != algorithms.end(); ++name) {
    const TrainingParams params = default_params(*name, feedback);  // throws where there is none
    if (searched_parameters(params, params).empty()) {
      fail(
          fmt::format("algorithm {} has nothing to search: a baseline is measured in every search; "
                      "search among {}",
                      *name, fmt::join(known, ", ")));
    }
    if (feedback_of(params) != feedback) {
      fail(fmt::format("algorithm {} learns from {} feedback only; for {} feedback there are {}",
                       *name, text_of(feedback_of(params)), text_of(feedback),
                       fmt::join(known, ", ")));
    }
    if (has_features) require_features(params);
    if (std::find(algorithms.begin(), name, *name) != name) {
      fail(fmt::format("algorithm {} is named twice", *name));
    }
  }
  if ((budget.trials > 0) == (budget.seconds > 0.0) || budget.trials < 0) {
    fail("the budget must be a number of trials or a time, more than 0");
  }
  const std::size_t count = algorithms_of(*this).size();
  if (budget.trials > 0 && static_cast<std::size_t>(budget.trials) < count) {
    fail(
        fmt::format("a budget of {} is less than one for each of {} algorithms; name fewer "
                    "algorithms, or give more",
                    counted(budget.trials, "trial"), count));
  }
  if (split.method == SplitMethod::kKFold) {
    fail("the validation part is cut once: by random, per-user, last or time, not by folds");
  }
  if (split.method == SplitMethod::kColdItems) {
    fail(
        "items without interactions cannot be validated on: cut by random, per-user, last or time");
  }
  of_validation([&] { split.validate(); });
}

TuneResult tune(const Interactions& data, const TuneOptions& options, const TuneRun& run) {
  options.validate();
  require_no_half_life(data, options.feedback);
  if (run.validation != nullptr) require_no_half_life(*run.validation, options.feedback);
  if (options.has_features != (run.features != nullptr)) {
    fail("the options tell whether there are features; here they do not fit what is there");
  }
  if (run.features != nullptr) check_features(data, *run.features);
  check_journal(run.journal, run.resume);
  std::optional<Split> parts;
  if (run.validation == nullptr) {
    of_validation([&] { parts = next_part(data, nullptr, options.split, options.seed, 0); });
  }
  const Interactions& train_part = parts ? parts->train : data;
  const Interactions& validation = parts ? parts->test : *run.validation;
  TuneSearch search(train_part, validation, parts ? &data : nullptr, parts ? &*parts : nullptr,
                    options, run);
  TuneResult result = search.run();
  const TuneTrial* winner = result.best();
  const bool stopped = result.stop_reason == "stopped";
  if (stopped && winner == nullptr) return result;
  if (winner == nullptr) search.journal().end("failed");  // in nobody's way
  if (result.trials.empty()) {
    fail(fmt::format("budget {} was over before the first trial began, after {:.3g} s; give more",
                     options.budget.text, result.seconds));
  }
  if (winner == nullptr) {
    throw Error(ErrorKind::kNumerical,
                fmt::format("no algorithm has a value: {}", fmt::join(result.failures(), "; ")));
  }
  const Interactions both = parts ? Interactions{} : united(data, validation, run.duplicates);
  const Interactions& all = parts ? data : both;
  result.for_everything = for_all(*winner, result, options.feedback, all);
  if (stopped) return result;
  if (run.on_winner) run.on_winner(result);
  try {
    search.train_winner(all, result);
    if (run.features != nullptr) {
      result.features = add_features(*result.model, *run.features, run.control);
    }
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled) throw;
    result.stop_reason = "stopped";
    result.model.reset();
    return result;
  }
  result.model->provenance.search = note_of(result, options, run);
  search.journal().end(result.stop_reason);
  return result;
}

}  // namespace likewise
