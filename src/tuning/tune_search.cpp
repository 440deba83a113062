// SPDX-License-Identifier: Apache-2.0
#include "tuning/tune_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "evaluation/metric_table.h"
#include "likewise/error.h"
#include "likewise/version.h"
#include "model/checksum.h"
#include "training/train.h"
#include "training/validation.h"
#include "tuning/halving.h"

namespace likewise {
namespace {

/// How far from the best trial others are drawn: in the second round of brackets, later, and at
/// least. The whole range is 1.
constexpr double kFirstSpread = 0.2;
constexpr double kSpreadFalls = 0.7;
constexpr double kLeastSpread = 0.02;
/// After the first round one in so many trials is still quasi-random.
constexpr int kExploresOneIn = 3;
/// Trials end after this share of the longest training without a better validation.
constexpr int kPatienceShare = 9;
constexpr const char* kDefaults = "defaults";  // an origin
/// Values within so many standard errors of the best are close to it.
constexpr double kCloseErrors = 2.0;
/// The final round: so many of the best unlike trials, the best of each algorithm that is close to
/// the best of all, and the best of the defaults, on so many more validation parts. Of a budget of
/// time it gets what it needs, and this share at most; beside trials it has the parts for which it
/// trains about as many models as that share would.
constexpr std::size_t kFinalists = 6;
/// By at least this in one coordinate: those that are more alike tell little more than one of them.
constexpr double kFinalistsApart = 0.1;
constexpr int kFewestFinalParts = 2;
constexpr int kMostFinalParts = 8;
constexpr double kFinalShare = 0.2;
/// Draws of parameters before some that were tried already are taken again.
constexpr int kMostDraws = 50;

void add_text(Checksum& sum, const IdMap& ids) {
  std::string text = fmt::format("{};", ids.size());
  for (Index i = 0; i < ids.size(); ++i) {
    text += ids.name(i);
    text += '\n';
  }
  sum.update(text);
}

template <class T>
void add_bytes(Checksum& sum, const T* values, Offset count) {
  sum.update({reinterpret_cast<const char*>(values), static_cast<std::size_t>(count) * sizeof(T)});
}

/// Of ids and values, so that a journal is not taken for another data set.
[[nodiscard]] std::string digits_of(const Interactions& data) {
  Checksum sum;
  add_text(sum, data.users);
  add_text(sum, data.items);
  const CsrView view = data.by_user.view();
  add_bytes(sum, view.offsets, Offset{view.rows} + 1);
  add_bytes(sum, view.columns, view.nnz());
  add_bytes(sum, view.values, view.nnz());
  return sum.digits();
}

}  // namespace

NamedMetric metric_of(const TuneOptions& options) {
  if (!options.metric.empty()) return parse_metric(options.metric);
  return parse_metric(options.feedback == Feedback::kExplicit ? "rmse" : "ndcg@10");
}

bool is_of_ratings(const NamedMetric& metric) {
  return find_metric(metric.name).kind == MetricKind::kRating;
}

std::vector<std::string> algorithms_of(const TuneOptions& options) {
  if (!options.algorithms.empty()) return options.algorithms;
  const std::vector<std::string_view> all = tuned_algorithms(options.feedback);
  return {all.begin(), all.end()};
}

Split next_part(const Interactions& whole, const Split* last, SplitOptions how, std::uint64_t seed,
                int number) {
  how.seed = seed + static_cast<std::uint64_t>(number);
  const bool newest = how.method == SplitMethod::kLast || how.method == SplitMethod::kTime;
  return std::move(split(newest && last != nullptr ? last->train : whole, how).front());
}

TuneSearch::TuneSearch(const Interactions& train_part, const Interactions& validation,
                       const Interactions* whole, const Split* cut, const TuneOptions& options,
                       const TuneRun& run)
    : train_part_(train_part),
      validation_(validation),
      whole_(whole),
      cut_(cut),
      options_(options),
      run_(run),
      begin_(Clock::now()) {
  result_.metric = metric_of(options);
  for (const std::string& name : algorithms_of(options)) {
    result_.usual.push_back(
        suited_to(train_part.by_user.view(), default_params(name, options.feedback)));
    spaces_.emplace_back(result_.usual.back(), options.seed);
    devices_.emplace(name, device_for(result_.usual.back()));
  }
  const CsrView held_out = validation.by_user.view();
  for (Index user = 0; user < held_out.rows; ++user) {
    if (held_out.offsets[user + 1] > held_out.offsets[user]) validation_users_ += 1.0;
  }
  if (by_time()) search_seconds_ = options.budget.seconds;
  best_of_.resize(spaces_.size());
  counts_.resize(spaces_.size());
  journal_ = std::make_unique<Journal>(run.journal, run.resume, description());
}

TuneResult TuneSearch::run() {
  measure_baseline();
  try {
    search();
    compare_finalists();
    result_.stop_reason = "budget";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled) throw;
    result_.stop_reason = "stopped";
  }
  result_.seconds = spent();
  return std::move(result_);
}

const Device& TuneSearch::device_of(std::string_view algorithm) const {
  return devices_.find(algorithm)->second;
}

Device TuneSearch::device_for(const TrainingParams& params) const {
  std::vector<Job> also;
  if (!is_of_ratings(result_.metric)) also.push_back(lists_job(params));
  if (run_.open) return run_.open(params, also);
  return open_device_to_train("auto", params, {}, also).device;
}

nlohmann::ordered_json TuneSearch::description() const {
  nlohmann::ordered_json names = nlohmann::ordered_json::array();
  for (const SearchSpace& space : spaces_) {
    names.push_back(
        fmt::format("{} on {}", space.algorithm(), device_of(space.algorithm()).name()));
  }
  return {{"version", kVersion},
          {"feedback", kFeedbackNames[static_cast<std::size_t>(options_.feedback)]},
          {"metric", result_.metric.key},
          {"algorithms", names},
          {"seed", options_.seed},
          {"training_part", digits_of(train_part_)},
          {"validation_part", digits_of(validation_)}};
}

double TuneSearch::spent() const {
  return replayed_ + std::chrono::duration<double>(Clock::now() - begin_).count();
}

int TuneSearch::trials_left() const {
  return options_.budget.trials - static_cast<int>(result_.trials.size());
}

void TuneSearch::keep_time_for_finals() {
  if (!by_time() || whole_ == nullptr) return;
  double part = 0.0;  // on which all finalists so far are measured
  for (const std::size_t place : finalists()) {
    const TuneTrial& trial = result_.trials[place];
    const double share =
        trial.iterations > 0 ? static_cast<double>(trial.best_iteration) / trial.iterations : 1.0;
    part += share * trial.seconds;
  }
  const double budget = options_.budget.seconds;
  search_seconds_ = budget - std::min(kFinalShare * budget, kMostFinalParts * part);
}

bool TuneSearch::is_budget_over() const { return by_time() && spent() >= options_.budget.seconds; }

double TuneSearch::seconds_left() const {
  if (by_time()) return std::max(0.0, options_.budget.seconds - spent());
  const auto done = static_cast<double>(std::max<std::size_t>(1, result_.trials.size()));
  return spent() / done * trials_left();
}

void TuneSearch::measure_baseline() {
  const bool ratings = is_of_ratings(result_.metric);
  TuneTrial& baseline = result_.baseline;
  baseline.params = default_params(ratings ? "bias" : "popular", options_.feedback);
  baseline.origin = "baseline";
  const std::string name(algorithm_name(baseline.params));
  devices_.emplace(name, open_device("cpu"));
  Runner runner{};
  add_outcome(outcome_of(baseline.params, runner, false), baseline);
  if (!baseline.value) {
    throw Error(ErrorKind::kNumerical,
                fmt::format("the baseline cannot be measured: {}", baseline.failure));
  }
}

void TuneSearch::search() {
  std::vector<std::size_t> active(spaces_.size());
  for (std::size_t a = 0; a < active.size(); ++a) active[a] = a;
  try_defaults();
  for (int round = 0; !is_over(); ++round) {
    for (std::size_t turn = 0; turn < active.size() && !is_over(); ++turn) {
      run_bracket(active[turn], round, active.size() - turn);
    }
    keep_better_half_and_close(active);
  }
}

void TuneSearch::try_defaults() {
  for (std::size_t a = 0; a < spaces_.size() && !is_over(); ++a) {
    const TrainingParams& usual = spaces_[a].usual();
    (void)is_new(a, usual);
    step(first_.emplace_back(new_trial(usual, kDefaults)), a, spaces_[a].usual_iterations());
  }
}

void TuneSearch::keep_better_half_and_close(std::vector<std::size_t>& active) const {
  std::ranges::stable_sort(active, [&](std::size_t a, std::size_t b) {
    return is_better(best_value(a), best_value(b));
  });
  const std::optional<double> best = best_value(active.front());
  std::size_t kept = (active.size() + 1) / 2;
  while (kept < active.size() && is_close(best_value(active[kept]), best)) ++kept;
  active.resize(kept);
}

void TuneSearch::run_bracket(std::size_t algorithm, int round, std::size_t turns_left) {
  const SearchSpace& space = spaces_[algorithm];
  const Bracket bracket = bracket_of(round, space.most_iterations());
  int count = bracket.trials;
  std::vector<Runner> runners;
  if (round == 0) runners.push_back(std::move(first_[algorithm]));
  const int begun = static_cast<int>(runners.size());
  double until = std::numeric_limits<double>::infinity();
  if (by_time()) {
    // In the first round every algorithm gets its share of the time.
    const double left = std::max(0.0, search_seconds_ - spent());
    if (round == 0) until = spent() + left / static_cast<double>(turns_left);
  } else {
    const int share = round > 0 ? trials_left() : trials_left() / static_cast<int>(turns_left);
    count = begun + std::min(count - begun, share);
  }
  for (std::size_t rung = 0; rung < bracket.iterations.size(); ++rung) {
    const bool last = rung + 1 == bracket.iterations.size();
    const int going_on = last ? 0 : kept_of(rung == 0 ? count : static_cast<int>(runners.size()));
    for (int i = 0; i < (rung == 0 ? count : static_cast<int>(runners.size())); ++i) {
      if (is_late() || spent() >= until) return;
      if (rung == 0 && i >= begun) runners.push_back(drawn(algorithm, round, i));
      step(runners[static_cast<std::size_t>(i)], algorithm, bracket.iterations[rung]);
      forget_worse(runners, i + 1, going_on);
    }
    std::ranges::stable_sort(runners, [&](const Runner& a, const Runner& b) {
      return is_better(value_of(a), value_of(b));
    });
    runners.resize(static_cast<std::size_t>(going_on));
  }
}

void TuneSearch::forget_worse(std::vector<Runner>& runners, int stepped, int going_on) const {
  std::vector<Runner*> order;
  for (int i = 0; i < stepped; ++i) order.push_back(&runners[static_cast<std::size_t>(i)]);
  std::ranges::stable_sort(order, [&](const Runner* a, const Runner* b) {
    return is_better(value_of(*a), value_of(*b));
  });
  for (std::size_t i = static_cast<std::size_t>(going_on); i < order.size(); ++i) {
    order[i]->model.reset();
  }
}

TuneSearch::Runner TuneSearch::new_trial(TrainingParams params, std::string origin) {
  TuneTrial& trial = result_.trials.emplace_back();
  trial.number = static_cast<int>(result_.trials.size());
  trial.params = std::move(params);
  trial.origin = std::move(origin);
  return {result_.trials.size() - 1};
}

TuneSearch::Runner TuneSearch::drawn(std::size_t algorithm, int round, int place) {
  const SearchSpace& space = spaces_[algorithm];
  const std::optional<std::size_t> best = best_of_[algorithm];
  const bool explores = round == 0 || !best || place % kExploresOneIn == 0;
  Counts& counts = counts_[algorithm];
  TrainingParams params;
  std::string origin = "quasi-random";
  for (int draw = 0; draw < kMostDraws; ++draw) {
    if (explores) {
      params = space.at(space.quasi_random(counts.quasi_random++));
    } else {
      const TuneTrial& centre = result_.trials[*best];
      const double spread =
          std::max(kLeastSpread, kFirstSpread * std::pow(kSpreadFalls, round - 1));
      params = space.at(space.near(space.point_of(centre.params), spread, counts.near++));
      origin = fmt::format("near {}", centre.number);
    }
    if (is_new(algorithm, params)) break;
  }
  return new_trial(std::move(params), std::move(origin));
}

bool TuneSearch::is_new(std::size_t algorithm, const TrainingParams& params) {
  const TrainingParams& usual = spaces_[algorithm].usual();
  std::string key(algorithm_name(params));
  for (const SearchedParameter& one : searched_parameters(params, usual)) {
    key += ' ';
    if (one.name != "iterations") key += parameter_text(params, one.name);
  }
  return tried_.insert(std::move(key)).second;
}

void TuneSearch::step(Runner& runner, std::size_t algorithm, int iterations) {
  TuneTrial& trial = result_.trials[runner.trial];
  if (runner.over || (trial.value && trial.iterations >= iterations)) return;
  TrainingParams params = trial.params;
  if (iterations > 0) {
    set_parameter(params, "iterations", fmt::format("{}", iterations));
    int patience = spaces_[algorithm].most_iterations() / kPatienceShare;
    // The defaults are trained to their end.
    if (trial.origin == kDefaults) {
      patience = std::max(patience, spaces_[algorithm].usual_iterations());
    }
    set_parameter(params, "patience", fmt::format("{}", patience));
  }
  const TrainingOutcome outcome = outcome_of(params, runner, iterations > 0);
  add_outcome(outcome, trial);
  runner.over = !outcome.value || outcome.stop_reason == "patience";
  std::optional<std::size_t>& best = best_of_[algorithm];
  if (trial.value && (!best || is_better(trial.value, result_.trials[*best].value))) {
    best = runner.trial;
  }
  keep_time_for_finals();
  if (run_.on_trial) run_.on_trial({result_, trial, seconds_left()});
}

void TuneSearch::add_outcome(const TrainingOutcome& outcome, TuneTrial& trial) const {
  trial.seconds += outcome.seconds;
  trial.finished = spent();
  if (!outcome.value) {
    if (!trial.value) trial.failure = outcome.failure;
    return;
  }
  trial.value = outcome.value;
  trial.iterations = outcome.iterations;
  trial.best_iteration = outcome.best_iteration;
  if (outcome.iterations > 0) {
    set_parameter(trial.params, "iterations", fmt::format("{}", outcome.best_iteration));
  }
}

TrainingOutcome TuneSearch::outcome_of(const TrainingParams& params, Runner& runner,
                                       bool iterating) {
  if (const TrainingOutcome* known = journal_->find(params, 0)) {
    // What a budget of time cut short counts where it is over then again.
    const bool cut = known->stop_reason == "stopped";
    if (!cut || spent() + known->seconds >= search_seconds_) {
      replayed_ += known->seconds;
      runner.model.reset();
      return *known;
    }
  }
  const TrainingOutcome outcome = train_now(params, runner, iterating);
  journal_->add(params, 0, outcome);
  return outcome;
}

int TuneSearch::most_final_parts(std::size_t finalists) const {
  if (by_time()) return kMostFinalParts;
  constexpr double kFinalsOfTrial = kFinalShare / (1.0 - kFinalShare);
  const double parts = options_.budget.trials * kFinalsOfTrial / static_cast<double>(finalists);
  return std::clamp(static_cast<int>(parts), kFewestFinalParts, kMostFinalParts);
}

bool TuneSearch::is_close(std::optional<double> value, std::optional<double> best) const {
  if (!value || !best) return false;
  const double error = is_of_ratings(result_.metric)
                           ? *best / std::sqrt(static_cast<double>(validation_.by_user.nnz()))
                           : std::sqrt(std::max(0.0, *best * (1.0 - *best)) / validation_users_);
  return std::abs(*value - *best) <= kCloseErrors * error;
}

std::vector<std::size_t> TuneSearch::finalists() const {
  std::vector<std::size_t> places;
  bool defaults = false;
  std::set<std::string_view> algorithms;
  const std::vector<const TuneTrial*> ranked = result_.ranked();
  for (const TuneTrial* trial : ranked) {
    const bool first_default = !defaults && trial->origin == kDefaults;
    const bool close_algorithm = algorithms.insert(algorithm_name(trial->params)).second &&
                                 is_close(trial->value, ranked.front()->value);
    const bool one_of_the_best = places.size() < kFinalists && !is_like_one_of(*trial, places);
    if (!first_default && !close_algorithm && !one_of_the_best) continue;
    places.push_back(static_cast<std::size_t>(trial->number) - 1);
    defaults = defaults || first_default;
  }
  return places;
}

bool TuneSearch::is_like_one_of(const TuneTrial& trial,
                                const std::vector<std::size_t>& places) const {
  const std::string_view algorithm = algorithm_name(trial.params);
  const SearchSpace& space = *std::ranges::find(spaces_, algorithm, &SearchSpace::algorithm);
  const Point here = space.point_of(trial.params);
  return std::ranges::any_of(places, [&](std::size_t place) {
    const TrainingParams& params = result_.trials[place].params;
    if (algorithm_name(params) != algorithm) return false;
    const Point there = space.point_of(params);
    return std::ranges::equal(here, there,
                              [](double a, double b) { return std::abs(a - b) < kFinalistsApart; });
  });
}

void TuneSearch::compare_finalists() {
  if (whole_ == nullptr) return;
  std::vector<std::size_t> places = finalists();
  std::map<std::size_t, double> sums;
  for (const std::size_t place : places) sums[place] = *result_.trials[place].value;
  std::optional<Split> part;
  double longest = 0.0;
  const int most = most_final_parts(places.size());
  for (int number = 1; number <= most && places.size() > 1; ++number) {
    const double begin = spent();
    if (by_time() && begin + longest >= options_.budget.seconds) return;  // not all would end
    try {
      part = next_part(*whole_, part ? &*part : cut_, options_.split, options_.seed, number);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInvalidArgument) throw;
      return;  // users have no more interactions to hold out
    }
    std::map<std::size_t, double> values;
    for (const std::size_t place : places) {
      TuneTrial& trial = result_.trials[place];
      const std::optional<double> value = final_value(trial, *part, number);
      if (is_budget_over()) return;
      if (value) values[place] = *value;
      if (run_.on_trial) run_.on_trial({result_, trial, seconds_left()});
    }
    std::erase_if(places, [&](std::size_t place) { return !values.contains(place); });
    result_.final_parts = number + 1;
    for (TuneTrial& trial : result_.trials) trial.final_value.reset();
    for (const std::size_t place : places) {
      sums[place] += values[place];
      result_.trials[place].final_value = sums[place] / result_.final_parts;
    }
    longest = std::max(longest, spent() - begin);
  }
}

std::optional<double> TuneSearch::final_value(TuneTrial& trial, const Split& part, int number) {
  TrainingOutcome outcome;
  if (const TrainingOutcome* known = journal_->find(trial.params, number)) {
    outcome = *known;
    replayed_ += outcome.seconds;
  } else {
    const auto begin = Clock::now();
    try {
      outcome.value = measured(trial.params, part);
    } catch (const Error& error) {
      if (!is_of_parameters(error)) throw;
      outcome.failure = error.what();
    }
    if (is_budget_over()) return std::nullopt;  // perhaps not trained to the end
    outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    journal_->add(trial.params, number, outcome);
  }
  trial.seconds += outcome.seconds;
  return outcome.value;
}

std::optional<double> TuneSearch::measured(const TrainingParams& params, const Split& part) {
  const Device& device = device_of(algorithm_name(params));
  std::atomic<bool> late = false;
  SettledRun how;
  how.control.cancel = run_.control.cancel;
  how.stop = &late;
  how.on_iteration = [&](const TrainingState&) { late = is_budget_over(); };
  Model model = train(part.train, params, device, how);
  how.validation = &part.test;
  how.validation_metric = result_.metric.key;
  const double value = make_measure(model, device, how)(model.learned);
  return std::isfinite(value) ? std::optional(value) : std::nullopt;
}

bool TuneSearch::is_of_parameters(const Error& error) {
  return error.kind() == ErrorKind::kNumerical || error.kind() == ErrorKind::kOutOfMemory;
}

TrainingOutcome TuneSearch::train_now(const TrainingParams& params, Runner& runner,
                                      bool iterating) {
  const auto begin = Clock::now();
  TrainingOutcome outcome;
  std::atomic<bool> late = false;
  std::optional<Factors> newest;
  SettledRun how;
  how.control.cancel = run_.control.cancel;
  how.validation = &validation_;
  how.validation_metric = result_.metric.key;
  if (iterating) {
    how.resume = runner.model ? &*runner.model : nullptr;
    how.stop = &late;
    how.on_iteration = [&](const TrainingState& state) {
      const bool is_last = state.iterations.back().iteration == state.most_iterations;
      if (is_last && state.best != nullptr) newest = state.factors().clone();
      if (is_late()) late = true;
    };
  }
  try {
    Model model = train(train_part_, params, device_of(algorithm_name(params)), how);
    outcome.value = model.best_validation();
    outcome.iterations = model.iterations.empty() ? 0 : model.iterations.back().iteration;
    outcome.best_iteration = model.best_iteration;
    outcome.stop_reason = model.stop_reason;
    model.last = std::move(newest);
    if (iterating) runner.model = std::move(model);
    if (outcome.value && !std::isfinite(*outcome.value)) {
      outcome.value.reset();
      outcome.failure = "the validation is not a number";
    }
  } catch (const Error& error) {
    if (!is_of_parameters(error)) throw;
    outcome.failure = error.what();
    runner.model.reset();
  }
  outcome.seconds = std::chrono::duration<double>(Clock::now() - begin).count();
  return outcome;
}

bool TuneSearch::is_better(std::optional<double> a, std::optional<double> b) const {
  if (!a || !b) return a.has_value() && !b;
  return likewise::is_better(result_.metric, *a, *b);
}

std::optional<double> TuneSearch::value_of(const Runner& runner) const {
  return result_.trials[runner.trial].value;
}

std::optional<double> TuneSearch::best_value(std::size_t algorithm) const {
  const std::optional<std::size_t> best = best_of_[algorithm];
  return best ? result_.trials[*best].value : std::nullopt;
}

}  // namespace likewise
