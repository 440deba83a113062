// SPDX-License-Identifier: Apache-2.0
#include "likewise/tune.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "evaluation/metric_table.h"
#include "likewise/error.h"
#include "likewise/training.h"
#include "likewise/version.h"
#include "model/checksum.h"
#include "training/merge_interactions.h"
#include "training/validation.h"
#include "tuning/halving.h"
#include "tuning/journal.h"
#include "tuning/search_space.h"

namespace likewise {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int kMostTrials = 1'000'000;
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
/// The final round: so many of the best trials and the best of the defaults, on so many more
/// validation parts. It gets a share of a budget of time; beside trials it has the parts for which
/// it trains about as many models as that share would.
constexpr std::size_t kFinalists = 6;
constexpr int kFewestFinalParts = 2;
constexpr int kMostFinalParts = 8;
constexpr double kFinalShare = 0.2;
/// Draws of parameters before some that were tried already are taken again.
constexpr int kMostDraws = 50;

[[noreturn]] void fail(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

[[nodiscard]] std::string text_of(Feedback feedback) {
  return std::string(kFeedbackNames[static_cast<std::size_t>(feedback)]);
}

[[nodiscard]] NamedMetric metric_of(const TuneOptions& options) {
  if (!options.metric.empty()) return parse_metric(options.metric);
  return parse_metric(options.feedback == Feedback::kExplicit ? "rmse" : "ndcg@10");
}

/// Whether it compares predicted ratings.
[[nodiscard]] bool is_of_ratings(const NamedMetric& metric) {
  return find_metric(metric.name).kind == MetricKind::kRating;
}

void check_metric(const NamedMetric& metric, Feedback feedback) {
  if (metric.name == "coverage" || metric.name == "popularity") {
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

[[nodiscard]] std::vector<std::string> algorithms_of(const TuneOptions& options) {
  if (!options.algorithms.empty()) return options.algorithms;
  const std::vector<std::string_view> all = tuned_algorithms(options.feedback);
  return {all.begin(), all.end()};
}

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
  return all;
}

[[nodiscard]] std::string split_text(const SplitOptions& split) {
  switch (split.method) {
    case SplitMethod::kRandom:
      return fmt::format("random {}", split.test);
    case SplitMethod::kTime:
      return fmt::format("time {}", split.test);
    case SplitMethod::kLast:
      return fmt::format("last {}", split.last);
    case SplitMethod::kPerUser:
      return split.rows > 0 ? fmt::format("per-user {} rows", split.rows)
                            : fmt::format("per-user {}", split.test);
    case SplitMethod::kKFold:
      break;
  }
  return {};
}

/// Errors of a split say which one it is.
template <class Work>
void of_validation(const Work& work) {
  try {
    work();
  } catch (const Error& error) {
    throw Error(error.kind(), fmt::format("the validation part: {}", error.what()));
  }
}

/// The validation part behind `number - 1` others: drawn parts are drawn anew, of the newest
/// interactions those before the ones of `last` are taken. Throws Error(kInvalidArgument) where
/// nothing is left to hold out.
[[nodiscard]] Split next_part(const Interactions& whole, const Split* last, SplitOptions how,
                              std::uint64_t seed, int number) {
  how.seed = seed + static_cast<std::uint64_t>(number);
  const bool newest = how.method == SplitMethod::kLast || how.method == SplitMethod::kTime;
  return std::move(split(newest && last != nullptr ? last->train : whole, how).front());
}

/// A trial under way.
struct Runner {
  std::size_t trial;             ///< its place in TuneResult::trials
  bool over = false;             ///< failed, or without a better validation for long
  std::optional<Model> model{};  ///< where it stands; none: trained anew when it goes on
};

class Search {
 public:
  /// `whole` and its cut; null where the validation part was given.
  Search(const Interactions& train_part, const Interactions& validation, const Interactions* whole,
         const Split* cut, const TuneOptions& options, const TuneRun& run)
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
    best_of_.resize(spaces_.size());
    counts_.resize(spaces_.size());
    journal_ = std::make_unique<Journal>(run.journal, run.resume, description());
  }

  /// Everything but the winner's model.
  [[nodiscard]] TuneResult run() {
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
  [[nodiscard]] const Device& device_of(std::string_view algorithm) const {
    return devices_.find(algorithm)->second;
  }
  [[nodiscard]] Journal& journal() { return *journal_; }

 private:
  [[nodiscard]] Device device_for(const TrainingParams& params) const {
    std::vector<Job> also;
    if (!is_of_ratings(result_.metric)) also.push_back(lists_job(params));
    if (run_.open) return run_.open(params, also);
    return open_device_to_train("auto", params, {}, also).device;
  }

  /// What has to be the same for a journal to go on.
  [[nodiscard]] nlohmann::ordered_json description() const {
    nlohmann::ordered_json names = nlohmann::ordered_json::array();
    for (const SearchSpace& space : spaces_) {
      names.push_back(
          fmt::format("{} on {}", space.algorithm(), device_of(space.algorithm()).name()));
    }
    return {{"version", kVersion},
            {"feedback", text_of(options_.feedback)},
            {"metric", result_.metric.key},
            {"algorithms", names},
            {"seed", options_.seed},
            {"training_part", digits_of(train_part_)},
            {"validation_part", digits_of(validation_)}};
  }

  // The budget.

  [[nodiscard]] bool by_time() const { return options_.budget.trials == 0; }
  /// Earlier runs of a resumed search included.
  [[nodiscard]] double spent() const {
    return replayed_ + std::chrono::duration<double>(Clock::now() - begin_).count();
  }
  [[nodiscard]] int trials_left() const {
    return options_.budget.trials - static_cast<int>(result_.trials.size());
  }
  /// Of a budget of time, what comes before the final round.
  [[nodiscard]] double search_seconds() const {
    return options_.budget.seconds * (whole_ == nullptr ? 1.0 : 1.0 - kFinalShare);
  }
  [[nodiscard]] bool is_budget_over() const {
    return by_time() && spent() >= options_.budget.seconds;
  }
  [[nodiscard]] bool is_over() const { return by_time() ? is_late() : trials_left() <= 0; }
  [[nodiscard]] bool is_late() const { return by_time() && spent() >= search_seconds(); }
  [[nodiscard]] double seconds_left() const {
    if (by_time()) return std::max(0.0, options_.budget.seconds - spent());
    const auto done = static_cast<double>(std::max<std::size_t>(1, result_.trials.size()));
    return spent() / done * trials_left();
  }

  // The course.

  void measure_baseline() {
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

  void search() {
    std::vector<std::size_t> active(spaces_.size());
    for (std::size_t a = 0; a < active.size(); ++a) active[a] = a;
    try_defaults();
    for (int round = 0; !is_over(); ++round) {
      for (std::size_t turn = 0; turn < active.size() && !is_over(); ++turn) {
        run_bracket(active[turn], round, active.size() - turn);
      }
      keep_better_half(active);
    }
  }

  /// Of every algorithm first, with as many iterations as they say: a search does not end with
  /// less.
  void try_defaults() {
    for (std::size_t a = 0; a < spaces_.size() && !is_over(); ++a) {
      const TrainingParams& usual = spaces_[a].usual();
      (void)is_new(a, usual);
      step(first_.emplace_back(new_trial(usual, kDefaults)), a, spaces_[a].usual_iterations());
    }
  }

  /// Algorithms that have no value yet are the worst.
  void keep_better_half(std::vector<std::size_t>& active) const {
    std::ranges::stable_sort(active, [&](std::size_t a, std::size_t b) {
      return is_better(best_value(a), best_value(b));
    });
    active.resize((active.size() + 1) / 2);
  }

  void run_bracket(std::size_t algorithm, int round, std::size_t turns_left) {
    const SearchSpace& space = spaces_[algorithm];
    const Bracket bracket = bracket_of(round, space.most_iterations());
    int count = bracket.trials;
    std::vector<Runner> runners;
    if (round == 0) runners.push_back(std::move(first_[algorithm]));
    const int begun = static_cast<int>(runners.size());
    double until = search_seconds();
    if (by_time()) {
      // In the first round every algorithm gets its share of the time.
      const double left = std::max(0.0, search_seconds() - spent());
      if (round == 0) until = spent() + left / static_cast<double>(turns_left);
    } else {
      const int share = round > 0 ? trials_left() : trials_left() / static_cast<int>(turns_left);
      count = begun + std::min(count - begun, share);
    }
    for (std::size_t rung = 0; rung < bracket.iterations.size(); ++rung) {
      const bool last = rung + 1 == bracket.iterations.size();
      const int going_on = last ? 0 : kept_of(rung == 0 ? count : static_cast<int>(runners.size()));
      for (int i = 0; i < (rung == 0 ? count : static_cast<int>(runners.size())); ++i) {
        if (by_time() && spent() >= until) return;
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

  /// Of the trials that took this step, models of those that cannot be among the `going_on` best
  /// any more are let go.
  void forget_worse(std::vector<Runner>& runners, int stepped, int going_on) const {
    std::vector<Runner*> order;
    for (int i = 0; i < stepped; ++i) order.push_back(&runners[static_cast<std::size_t>(i)]);
    std::ranges::stable_sort(order, [&](const Runner* a, const Runner* b) {
      return is_better(value_of(*a), value_of(*b));
    });
    for (std::size_t i = static_cast<std::size_t>(going_on); i < order.size(); ++i) {
      order[i]->model.reset();
    }
  }

  [[nodiscard]] Runner new_trial(TrainingParams params, std::string origin) {
    TuneTrial& trial = result_.trials.emplace_back();
    trial.number = static_cast<int>(result_.trials.size());
    trial.params = std::move(params);
    trial.origin = std::move(origin);
    return {result_.trials.size() - 1};
  }

  /// A trial by new parameters.
  [[nodiscard]] Runner drawn(std::size_t algorithm, int round, int place) {
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

  /// Whether no trial has had these parameters; from now on one has.
  [[nodiscard]] bool is_new(std::size_t algorithm, const TrainingParams& params) {
    const TrainingParams& usual = spaces_[algorithm].usual();
    std::string key(algorithm_name(params));
    for (const SearchedParameter& one : searched_parameters(params, usual)) {
      key += ' ';
      if (one.name != "iterations") key += parameter_text(params, one.name);
    }
    return tried_.insert(std::move(key)).second;
  }

  /// Trains a trial up to so many iterations, from where it stands, or takes from the journal what
  /// that came to. Nothing where it has had as many.
  void step(Runner& runner, std::size_t algorithm, int iterations) {
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
    if (run_.on_trial) run_.on_trial({result_, trial, seconds_left()});
  }

  void add_outcome(const TrainingOutcome& outcome, TuneTrial& trial) const {
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

  [[nodiscard]] TrainingOutcome outcome_of(const TrainingParams& params, Runner& runner,
                                           bool iterating) {
    if (const TrainingOutcome* known = journal_->find(params, 0)) {
      // What a budget of time cut short counts where it is over then again.
      const bool cut = known->stop_reason == "stopped";
      if (!cut || (by_time() && spent() + known->seconds >= search_seconds())) {
        replayed_ += known->seconds;
        runner.model.reset();
        return *known;
      }
    }
    const TrainingOutcome outcome = train_now(params, runner, iterating);
    journal_->add(params, 0, outcome);
    return outcome;
  }

  // The final round.

  [[nodiscard]] int most_final_parts() const {
    if (by_time()) return kMostFinalParts;
    constexpr double kTrialsOfPart = (1.0 - kFinalShare) / kFinalShare * (kFinalists + 1);
    return std::clamp(static_cast<int>(options_.budget.trials / kTrialsOfPart), kFewestFinalParts,
                      kMostFinalParts);
  }

  [[nodiscard]] std::vector<std::size_t> finalists() const {
    std::vector<std::size_t> places;
    bool defaults = false;
    for (const TuneTrial* trial : result_.ranked()) {
      const bool is_default = trial->origin == kDefaults;
      if (places.size() >= kFinalists && (defaults || !is_default)) continue;
      places.push_back(static_cast<std::size_t>(trial->number) - 1);
      defaults = defaults || is_default;
    }
    return places;
  }

  /// All of them on one part after another. A part that not all could be measured on in time does
  /// not count.
  void compare_finalists() {
    if (whole_ == nullptr) return;
    std::vector<std::size_t> places = finalists();
    std::map<std::size_t, double> sums;
    for (const std::size_t place : places) sums[place] = *result_.trials[place].value;
    std::optional<Split> part;
    double longest = 0.0;
    const int most = most_final_parts();
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

  /// Trained for the iterations that were its best; none where that failed.
  [[nodiscard]] std::optional<double> final_value(TuneTrial& trial, const Split& part, int number) {
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

  [[nodiscard]] std::optional<double> measured(const TrainingParams& params, const Split& part) {
    const Device& device = device_of(algorithm_name(params));
    std::atomic<bool> late = false;
    TrainingRun how;
    how.control.cancel = run_.control.cancel;
    how.stop = &late;
    how.on_iteration = [&](const TrainingState&) { late = is_budget_over(); };
    Model model = train(part.train, params, device, how);
    how.validation = &part.test;
    how.validation_metric = result_.metric.key;
    const double value = make_measure(model, device, how)(model.learned);
    return std::isfinite(value) ? std::optional(value) : std::nullopt;
  }

  /// Whether other parameters may do.
  [[nodiscard]] static bool is_of_parameters(const Error& error) {
    return error.kind() == ErrorKind::kNumerical || error.kind() == ErrorKind::kOutOfMemory;
  }

  [[nodiscard]] TrainingOutcome train_now(const TrainingParams& params, Runner& runner,
                                          bool iterating) {
    const auto begin = Clock::now();
    TrainingOutcome outcome;
    std::atomic<bool> late = false;
    std::optional<Factors> newest;
    TrainingRun how;
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

  [[nodiscard]] bool is_better(std::optional<double> a, std::optional<double> b) const {
    if (!a || !b) return a.has_value() && !b;
    return likewise::is_better(result_.metric, *a, *b);
  }
  [[nodiscard]] std::optional<double> value_of(const Runner& runner) const {
    return result_.trials[runner.trial].value;
  }
  [[nodiscard]] std::optional<double> best_value(std::size_t algorithm) const {
    const std::optional<std::size_t> best = best_of_[algorithm];
    return best ? result_.trials[*best].value : std::nullopt;
  }

  /// Of one algorithm: how many points were drawn for its trials.
  struct Counts {
    int quasi_random = 0;
    int near = 0;
  };

  const Interactions& train_part_;
  const Interactions& validation_;
  const Interactions* whole_;
  const Split* cut_;
  const TuneOptions& options_;
  const TuneRun& run_;
  Clock::time_point begin_;
  double replayed_ = 0.0;  ///< seconds of what the journal held
  TuneResult result_;
  std::vector<SearchSpace> spaces_;
  std::map<std::string, Device, std::less<>> devices_;
  std::vector<Runner> first_;  ///< of each algorithm the trial by its defaults
  std::vector<std::optional<std::size_t>> best_of_;  ///< of each algorithm: a place in the trials
  std::vector<Counts> counts_;
  std::set<std::string> tried_;  ///< algorithms with their searched parameters
  std::unique_ptr<Journal> journal_;
};

[[nodiscard]] ModelSearch note_of(const TuneResult& result, const TuneOptions& options,
                                  const TuneRun& run) {
  ModelSearch note;
  note.metric = result.metric.key;
  note.value = *result.best()->value;
  note.baseline = algorithm_name(result.baseline.params);
  note.baseline_value = *result.baseline.value;
  note.trials = static_cast<int>(result.trials.size());
  note.seconds = result.seconds;
  note.budget = options.budget.text;
  note.validation = run.validation != nullptr ? run.validation_source : split_text(options.split);
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

std::vector<std::string_view> tuned_algorithms(Feedback feedback) {
  std::vector<std::string_view> names;
  for (const std::string_view name : algorithm_names()) {
    const TrainingParams params = default_params(name, feedback);
    if (feedback_of(params) == feedback && !searched_parameters(params, params).empty()) {
      names.push_back(name);
    }
  }
  return names;
}

TrainedAlgorithms trained_algorithms(Feedback feedback, const OpenToTrain& open) {
  TrainedAlgorithms all;
  std::exception_ptr first;
  for (const std::string_view name : tuned_algorithms(feedback)) {
    try {
      (void)open(default_params(name, feedback), {});
      all.algorithms.emplace_back(name);
    } catch (const Error& error) {
      if (!first) first = std::current_exception();
      all.left_out.push_back(fmt::format("{}: {}", name, error.what()));
    }
  }
  if (all.algorithms.empty()) std::rethrow_exception(first);
  return all;
}

void TuneOptions::validate() const {
  check_metric(metric_of(*this), feedback);
  const std::vector<std::string_view> known = tuned_algorithms(feedback);
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
        fmt::format("a budget of {} trials is less than one for each of {} algorithms; name fewer "
                    "algorithms, or give more",
                    budget.trials, count));
  }
  if (split.method == SplitMethod::kKFold) {
    fail("the validation part is cut once: by random, per-user, last or time, not by folds");
  }
  of_validation([&] { split.validate(); });
}

TuneResult tune(const Interactions& data, const TuneOptions& options, const TuneRun& run) {
  options.validate();
  check_journal(run.journal, run.resume);
  std::optional<Split> parts;
  if (run.validation == nullptr) {
    of_validation([&] { parts = next_part(data, nullptr, options.split, options.seed, 0); });
  }
  const Interactions& train_part = parts ? parts->train : data;
  const Interactions& validation = parts ? parts->test : *run.validation;
  Search search(train_part, validation, parts ? &data : nullptr, parts ? &*parts : nullptr, options,
                run);
  TuneResult result = search.run();
  if (result.stop_reason == "stopped") return result;
  if (result.trials.empty()) {
    fail(fmt::format("budget {} was over before the first trial began, after {:.3g} s; give more",
                     options.budget.text, result.seconds));
  }
  const TuneTrial* winner = result.best();
  if (winner == nullptr) {
    throw Error(ErrorKind::kNumerical,
                fmt::format("none of the {} trials could be trained; the first: {}",
                            result.trials.size(), result.trials.front().failure));
  }
  if (run.on_winner) run.on_winner(result);
  TrainingRun how;
  how.control = run.control;
  how.source = run.source;
  const Interactions all = parts ? Interactions{} : united(data, validation, run.duplicates);
  const Device& device = search.device_of(algorithm_name(winner->params));
  try {
    result.model = train(parts ? data : all, winner->params, device, how);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled) throw;
    result.stop_reason = "stopped";
    return result;
  }
  result.model->provenance.search = note_of(result, options, run);
  search.journal().end(result.stop_reason);
  return result;
}

}  // namespace likewise
