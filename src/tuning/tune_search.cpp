// SPDX-License-Identifier: Apache-2.0
#include "tuning/tune_search.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <limits>
#include <utility>

#include <fmt/format.h>

#include "algorithms/parameters/rules.h"
#include "data/hold_out.h"
#include "data/sample_users.h"
#include "evaluation/metric_table.h"
#include "likewise/error.h"
#include "likewise/version.h"
#include "model/checksum.h"
#include "training/choose.h"
#include "training/cost.h"
#include "training/train.h"
#include "training/validation.h"
#include "training/value_readers.h"
#include "tuning/halving.h"
#include "tuning/validation_sample.h"

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
/// A fair share of a budget of time lets each algorithm have so many trials.
constexpr std::size_t kFairTrials = 5;
/// So much more than the share of all interactions a validation part may have.
constexpr double kMostOverShare = 1.25;
constexpr const char* kDefaults = "defaults";  // origins
constexpr const char* kSmallest = "smallest";
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
/// What training the winner on everything takes, over what its trial says.
constexpr double kMargin = 1.1;
/// A training of the winner may last so much longer than the budget: it is nearly done then.
constexpr double kGrace = 0.8;  // seconds
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

void add_matrix(Checksum& sum, const CsrView& view) {
  add_bytes(sum, view.offsets, Offset{view.rows} + 1);
  add_bytes(sum, view.columns, view.nnz());
  add_bytes(sum, view.values, view.nnz());
}

void take_value(std::optional<double> value, TrainingOutcome& outcome) {
  if (value && std::isfinite(*value)) {
    outcome.value = value;
  } else {
    outcome.failure = "the validation is not a number";
  }
}

/// A trial's model as if it had been trained for the iterations that were its best.
[[nodiscard]] Model as_trained(Model model, const TuneTrial& trial, const std::string& metric,
                               const std::string& source) {
  model.params = trial.params;
  model.provenance.source = source;
  model.last.reset();
  std::erase_if(model.iterations,
                [&](const Iteration& one) { return one.iteration > trial.best_iteration; });
  if (iterates(model.params)) {
    model.stop_reason = "iterations";
  } else {
    model.validation = trial.value;
    model.validation_metric = metric;
  }
  return model;
}

/// Of ids and values, so that a journal is not taken for another data set.
[[nodiscard]] std::string digits_of(const Interactions& data) {
  Checksum sum;
  add_text(sum, data.users);
  add_text(sum, data.items);
  add_matrix(sum, data.by_user.view());
  return sum.digits();
}

/// Of one side, for the journal.
[[nodiscard]] std::string digits_of(const std::optional<FeatureTable>& table) {
  if (!table) return "none";
  Checksum sum;
  add_text(sum, table->ids);
  add_text(sum, table->tags);
  add_matrix(sum, table->weights.view());
  return sum.digits();
}

/// One of each user's few interactions is a large share of them: what is learned of the rest would
/// not be what is learned of all. Then fewer users have something held out.
[[nodiscard]] Split of_so_many_users(const Interactions& all, Split parts,
                                     const SplitOptions& how) {
  if (how.method != SplitMethod::kPerUser || how.rows > 0) return parts;
  const double wanted = how.test * static_cast<double>(all.by_user.nnz());
  const auto held_out = static_cast<double>(parts.test.by_user.nnz());
  if (held_out <= kMostOverShare * wanted) return parts;
  const Index users = users_with_entries(parts.test.by_user.view());
  const auto fewer = static_cast<Index>(std::ceil(users * wanted / held_out));
  return hold_out_of(all, parts, fewer, how.seed);
}

/// What is learned of features, for the journal.
[[nodiscard]] nlohmann::ordered_json description_of(const FeatureTables* features) {
  if (features == nullptr) return "none";
  const std::optional<double> regularization = features->learning.regularization;
  return {
      {"items", digits_of(features->items)},
      {"users", digits_of(features->users)},
      {"regularization", regularization ? nlohmann::ordered_json(*regularization) : "by the data"}};
}

}  // namespace

NamedMetric metric_of(const TuneOptions& options) {
  const bool of_ratings = options.feedback == Feedback::kExplicit;
  return parse_metric(options.metric.empty() ? default_metric(of_ratings) : options.metric);
}

bool is_of_ratings(const NamedMetric& metric) {
  return find_metric(metric.name).kind == MetricKind::kRating;
}

std::vector<std::string> algorithms_of(const TuneOptions& options) {
  if (!options.algorithms.empty()) return options.algorithms;
  const std::vector<std::string_view> all =
      tuned_algorithms(options.feedback, options.has_features);
  return {all.begin(), all.end()};
}

std::string spread_text(const SplitOptions& split) {
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
    case SplitMethod::kColdItems:
      break;
  }
  return {};
}

Split next_part(const Interactions& whole, const Split* last, SplitOptions how, std::uint64_t seed,
                int number) {
  how.seed = seed + static_cast<std::uint64_t>(number);
  const bool newest = how.method == SplitMethod::kLast || how.method == SplitMethod::kTime;
  const Interactions& all = newest && last != nullptr ? last->train : whole;
  return of_so_many_users(all, std::move(split(all, how).front()), how);
}

TuneSearch::TuneSearch(const Interactions& train_part, const Interactions& validation,
                       const Interactions* whole, const Split* cut, const TuneOptions& options,
                       const TuneRun& run)
    : train_part_(train_part),
      validation_(&validation),
      whole_(whole),
      cut_(cut),
      options_(options),
      run_(run),
      begin_(run.now()),
      watch_(run.control.cancel, run.now) {
  result_.metric = metric_of(options);
  const std::vector<std::string> names = algorithms_of(options);
  std::vector<TrainingParams> defaults;
  for (const std::string& name : names) {
    defaults.push_back(
        with_data_defaults(train_part.by_user.view(), default_params(name, options.feedback)));
  }
  const std::string note = note_on_fading(train_part, defaults);
  if (!note.empty()) result_.notes.push_back(note);
  const double share = fair_share(defaults);
  for (const TrainingParams& params : defaults) add_algorithm(params, share);
  const Offset all =
      whole != nullptr ? whole->by_user.nnz() : train_part.by_user.nnz() + validation.by_user.nnz();
  growth_ =
      static_cast<double>(all) / static_cast<double>(std::max<Offset>(1, train_part.by_user.nnz()));
  choose_measured_users();
  if (by_time()) search_seconds_ = options.budget.seconds;
  best_of_.resize(spaces_.size());
  counts_.resize(spaces_.size());
  first_.resize(spaces_.size());
  out_.resize(spaces_.size());
  journal_ = std::make_unique<Journal>(run.journal, run.resume, description());
  result_.broken_lines = journal_->broken_lines();
}

double TuneSearch::estimated_seconds(const TrainingParams& params) const {
  return core_seconds(train_part_.by_user.view(), params) / thread_count();
}

double TuneSearch::fair_share(const std::vector<TrainingParams>& defaults) const {
  const double turn = options_.budget.seconds / static_cast<double>(defaults.size());
  double dearest = 0.0;
  for (const TrainingParams& params : defaults) {
    if (!cheaper_form(params)) dearest = std::max(dearest, estimated_seconds(params));
  }
  return std::max(turn / static_cast<double>(kFairTrials), std::min(dearest, turn));
}

void TuneSearch::add_algorithm(const TrainingParams& defaults, double share) {
  const std::string name(algorithm_name(defaults));
  std::optional<Device> device = taken_by(defaults);
  if (const auto usual = affordable(defaults, share)) {
    result_.usual.push_back(*usual);
    spaces_.emplace_back(*usual, options_.seed);
    const Device& used = devices_.emplace(name, device_for(*usual)).first->second;
    if (!device) device = used;
  }
  asked_.push_back(device ? fmt::format("{} on {}", name, device->name()) : name);
}

std::optional<TrainingParams> TuneSearch::affordable(const TrainingParams& usual, double share) {
  const std::optional<TrainingParams> cheaper = cheaper_form(usual);
  if (!by_time() || !cheaper) return usual;
  if (estimated_seconds(usual) <= share || !taken_by(*cheaper)) return usual;
  const std::string why = fmt::format(
      "{}: a training on {} items would take about {:.2g} s, more than a fair share of the "
      "budget, {:.2g} s",
      algorithm_name(usual), train_part_.by_user.cols, estimated_seconds(usual), share);
  if (estimated_seconds(*cheaper) <= share) {
    result_.notes.push_back(why + "; its form that costs less is searched");
    return cheaper;
  }
  if (algorithms_of(options_).size() == 1) return usual;
  result_.left_out.push_back(why);
  return std::nullopt;
}

void TuneSearch::choose_measured_users() {
  result_.validation_users = users_with_entries(validation_->by_user.view());
  result_.measured_users = result_.validation_users;
  if (is_of_ratings(result_.metric)) return;
  measured_ =
      of_known_users(*validation_, train_part_, whole_ != nullptr, result_.users_not_ranked);
  if (measured_) validation_ = &*measured_;
  const Index users = result_.validation_users - result_.users_not_ranked;
  result_.measured_users = users_to_measure(users);
  if (result_.measured_users == users) return;
  measured_ = sample_users(*validation_, result_.measured_users, options_.seed);
  validation_ = &*measured_;
}

Index TuneSearch::users_to_measure(Index users) const {
  // Values of other users would not compare with those of the journal.
  if (const std::optional<Index> before = earlier_measured_users(run_.journal, run_.resume)) {
    return std::clamp(*before, std::min<Index>(1, users), users);
  }
  const auto als = std::ranges::find(result_.usual, "als", algorithm_name);
  if (!by_time() || als == result_.usual.end()) return users;
  return users_to_validate(train_part_.by_user.view(), users, *als);
}

std::optional<Interactions> TuneSearch::measured(const Interactions& part,
                                                 const Interactions& training) const {
  if (is_of_ratings(result_.metric)) return std::nullopt;
  Index unknown = 0;
  std::optional<Interactions> known = of_known_users(part, training, whole_ != nullptr, unknown);
  if (result_.measured_users == result_.validation_users - result_.users_not_ranked) return known;
  return sample_users(known ? *known : part, result_.measured_users, options_.seed);
}

void TuneSearch::note_those_without_trials() {
  for (const TrainingParams& usual : result_.usual) {
    const std::string_view name = algorithm_name(usual);
    const bool begun = std::ranges::any_of(result_.trials, [&](const TuneTrial& trial) {
      return algorithm_name(trial.params) == name;
    });
    if (!begun) {
      result_.left_out.push_back(fmt::format("{}: the search was over before its turn", name));
    }
  }
}

TuneResult TuneSearch::run() try {
  measure_baseline();
  try {
    search();
    compare_finalists();
    result_.stop_reason = "budget";
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled) throw;
    result_.stop_reason = "stopped";
  }
  note_those_without_trials();
  result_.seconds = spent();
  return std::move(result_);
} catch (const Error& error) {
  if (error.kind() != ErrorKind::kCancelled && result_.best() == nullptr) journal_->end("failed");
  throw;
}

const Device& TuneSearch::device_of(std::string_view algorithm) const {
  return devices_.find(algorithm)->second;
}

std::optional<Device> TuneSearch::taken_by(const TrainingParams& params) const {
  try {
    return device_for(params);
  } catch (const Error&) {
    return std::nullopt;
  }
}

Device TuneSearch::device_for(const TrainingParams& params) const {
  std::vector<Job> also;
  if (!is_of_ratings(result_.metric)) also.push_back(lists_job(params));
  if (run_.open) return run_.open(params, also);
  return open_device_to_train("auto", params, {}, also).device;
}

nlohmann::ordered_json TuneSearch::description() const {
  return {{"version", kVersion},
          {"feedback", kFeedbackNames[static_cast<std::size_t>(options_.feedback)]},
          {"metric", result_.metric.key},
          {"algorithms", asked_},
          {"seed", options_.seed},
          {"validation", whole_ != nullptr ? spread_text(options_.split) : "given"},
          {"training_part", digits_of(train_part_)},
          {"measured_users", result_.measured_users},
          {"validation_part", digits_of(*validation_)},
          {"features", description_of(run_.features)}};
}

double TuneSearch::since(Clock::time_point begin) const {
  return std::chrono::duration<double>(run_.now() - begin).count();
}

double TuneSearch::spent() const { return replayed_ + since(begin_); }

int TuneSearch::trials_left() const {
  return options_.budget.trials - static_cast<int>(result_.trials.size());
}

void TuneSearch::keep_time_for_the_end() {
  const TuneTrial* best = result_.best();
  if (!by_time() || best == nullptr) return;
  const double budget = options_.budget.seconds;
  search_seconds_ = budget - model_seconds(static_cast<std::size_t>(best->number) - 1);
  if (whole_ == nullptr) return;
  double part = 0.0;  // on which all finalists so far are measured
  for (const std::size_t place : finalists()) {
    const TuneTrial& trial = result_.trials[place];
    const double share =
        trial.iterations > 0 ? static_cast<double>(trial.best_iteration) / trial.iterations : 1.0;
    part += share * trial.seconds;
  }
  search_seconds_ -= std::min(kFinalShare * budget, kMostFinalParts * part);
}

double TuneSearch::model_seconds(std::size_t place) const {
  const TuneTrial& trial = result_.trials[place];
  const double seconds = kMargin * growth_ * training_seconds_[place];
  if (trial.number != result_.choice || trial.best_iteration == 0) return seconds;
  const SearchSpace& space =
      *std::ranges::find(spaces_, algorithm_name(trial.params), &SearchSpace::algorithm);
  return seconds * space.usual_iterations() / trial.best_iteration;
}

void TuneSearch::limit_training(const TuneTrial& trial, double until) {
  if (!by_time()) return stop_at(std::numeric_limits<double>::infinity());
  // x seconds more, and then on everything: now + x + again (before + x) <= budget
  const double again = kMargin * growth_;
  const double before =
      trial.number > 0 ? training_seconds_[static_cast<std::size_t>(trial.number) - 1] : 0.0;
  const double now = spent();
  const double most = (options_.budget.seconds - now - again * before) / (1.0 + again);
  stop_at(std::min({until, search_seconds_, now + std::max(0.0, most)}));
}

void TuneSearch::stop_at(double seconds) {
  // More than the clock can count is for ever.
  constexpr double kMostSeconds = 1e9;
  if (seconds >= kMostSeconds) return watch_.set_end(std::nullopt);
  watch_.set_end(begin_ + std::chrono::duration_cast<Clock::duration>(
                              std::chrono::duration<double>(seconds - replayed_)));
}

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
  stop_at(by_time() ? options_.budget.seconds : std::numeric_limits<double>::infinity());
  const TrainingOutcome outcome = outcome_of(baseline.params, runner, false);
  add_outcome(outcome, baseline);
  if (baseline.value || outcome.is_cut()) return;
  if (outcome.is_refusal()) throw Error(ErrorKind::kBadData, baseline.failure);
  throw Error(ErrorKind::kNumerical,
              fmt::format("the baseline cannot be measured: {}", baseline.failure));
}

void TuneSearch::search() {
  if (spaces_.size() > 1) {
    choice_ = choose_algorithm(train_part_.by_user.view(), options_.feedback,
                               device_of(spaces_.front().algorithm()))
                  .algorithm;
  }
  try_defaults();
  std::vector<std::size_t> active(spaces_.size());
  for (std::size_t a = 0; a < active.size(); ++a) active[a] = a;
  const auto leave = [&] { std::erase_if(active, [&](std::size_t a) { return out_[a] != 0; }); };
  leave();
  for (int round = 0; !is_over() && !active.empty(); ++round) {
    for (std::size_t turn = 0; turn < active.size() && !is_over(); ++turn) {
      run_bracket(active[turn], round, active.size() - turn);
    }
    leave();
    if (!active.empty()) keep_better_half_and_close(active);
  }
}

void TuneSearch::try_defaults() {
  if (by_time()) return try_defaults_in_time();
  for (const std::size_t a : by_choice()) {
    if (is_over()) return;
    try_default(a, spaces_[a].usual_iterations(), std::numeric_limits<double>::infinity());
  }
}

void TuneSearch::try_defaults_in_time() {
  std::vector<std::size_t> order = by_choice();
  const auto share = [&](std::size_t place) {
    return spent() + (search_seconds_ - spent()) / static_cast<double>(order.size() - place);
  };
  for (std::size_t i = 0; i < order.size() && !is_over(); ++i) {
    const std::size_t a = order[i];
    const bool first = i == 0;
    try_default(a, first ? spaces_[a].usual_iterations() : fewest_iterations(a),
                first ? search_seconds_ : share(i));
  }
  std::ranges::stable_sort(
      order, [&](std::size_t a, std::size_t b) { return is_better(best_value(a), best_value(b)); });
  for (std::size_t i = 0; i < order.size() && !is_over(); ++i) finish_default(order[i], share(i));
}

std::vector<std::size_t> TuneSearch::by_choice() const {
  const CsrView by_user = train_part_.by_user.view();
  std::vector<std::pair<double, std::size_t>> costs;
  for (std::size_t a = 0; a < spaces_.size(); ++a) {
    costs.emplace_back(core_seconds(by_user, spaces_[a].usual()), a);
  }
  std::ranges::sort(costs);
  std::vector<std::size_t> order;
  for (const auto& [seconds, a] : costs) order.push_back(a);
  std::stable_partition(order.begin(), order.end(),
                        [&](std::size_t a) { return spaces_[a].algorithm() == choice_; });
  return order;
}

int TuneSearch::fewest_iterations(std::size_t algorithm) const {
  const SearchSpace& space = spaces_[algorithm];
  const int rung = bracket_of(0, space.most_iterations()).iterations.front();
  return std::min(rung, space.usual_iterations());
}

void TuneSearch::try_default(std::size_t algorithm, int iterations, double until) {
  const SearchSpace& space = spaces_[algorithm];
  std::optional<Runner>& first = first_[algorithm];
  (void)is_new(algorithm, space.usual());
  first = new_trial(space.usual(), kDefaults);
  if (spaces_.size() == 1 || space.algorithm() == choice_)
    result_.choice = result_.trials.back().number;
  const std::optional<TrainingParams> smallest = space.smallest();
  const double begin = spent();
  step(*first, algorithm, iterations, smallest ? begin + (until - begin) / 2.0 : until);
  if (!first->cut || !smallest || is_over()) return;
  (void)is_new(algorithm, *smallest);
  out_[algorithm] = 0;
  first = new_trial(*smallest, kSmallest);
  step(*first, algorithm, fewest_iterations(algorithm), until);
}

void TuneSearch::finish_default(std::size_t algorithm, double until) {
  std::optional<Runner>& first = first_[algorithm];
  if (!first) return;
  const double had = result_.trials[first->trial].seconds;
  // What had no value in its share of the time gets more, where there is more by now.
  if (first->cut && until - spent() > had) {
    first->cut = first->over = false;
    out_[algorithm] = 0;
  }
  step(*first, algorithm, spaces_[algorithm].usual_iterations(), until);
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
  if (round == 0 && first_[algorithm]) runners.push_back(std::move(*first_[algorithm]));
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
      if (is_late() || spent() >= until || out_[algorithm] != 0) return;
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
  training_seconds_.push_back(0.0);
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

void TuneSearch::step(Runner& runner, std::size_t algorithm, int iterations, double until) {
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
  limit_training(trial, until);
  const TrainingOutcome outcome = outcome_of(params, runner, iterations > 0);
  add_outcome(outcome, trial);
  runner.over = !outcome.value || outcome.stop_reason == "patience";
  runner.cut = outcome.is_cut() && !trial.value;
  const bool refused = outcome.is_refusal() && trial.origin == kDefaults;
  if (runner.cut || refused) out_[algorithm] = 1;
  std::optional<std::size_t>& best = best_of_[algorithm];
  if (trial.value && (!best || is_better(trial.value, result_.trials[*best].value))) {
    best = runner.trial;
  }
  keep_best_model(runner);
  keep_time_for_the_end();
  if (run_.on_trial) run_.on_trial({result_, trial, seconds_left()});
}

void TuneSearch::keep_best_model(Runner& runner) {
  const std::shared_ptr<Model> learned = std::move(runner.learned);
  const TuneTrial& trial = result_.trials[runner.trial];
  if (!by_time() || learned == nullptr || !trial.value) return;
  const auto kept = static_cast<std::size_t>(best_model_trial_);
  const bool same = trial.number == best_model_trial_;
  if (kept > 0 && !same && !is_better(trial.value, result_.trials[kept - 1].value)) return;
  best_model_ = learned;
  best_model_trial_ = trial.number;
}

void TuneSearch::train_winner(const Interactions& all, TuneResult& result) {
  const TrainingParams& params = result.for_everything;
  const bool limited = best_model_ != nullptr;
  stop_at(limited ? options_.budget.seconds + kGrace : std::numeric_limits<double>::infinity());
  ResolvedRun how;
  how.control = run_.control;
  how.control.cancel = iterates(params) ? nullptr : &watch_.flag();
  how.stop = &watch_.flag();
  how.source = run_.source;
  const char* over = "the time of the budget was over while the best was trained on everything";
  try {
    result.model = train(all, params, device_of(algorithm_name(params)), how);
    run_.control.check();
    result.model_trial = result.best()->number;
    if (result.model->stop_reason != "stopped") return;
    result.shortened =
        fmt::format("{}: the model has {} of {} iterations", over, result.model->best_iteration,
                    parameter_text(params, "iterations"));
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kCancelled) throw;
    run_.control.check();
    const auto place = static_cast<std::size_t>(best_model_trial_) - 1;
    result.model =
        as_trained(std::move(*best_model_), result.trials[place], result.metric.key, run_.source);
    result.model_trial = best_model_trial_;
    result.on_everything = false;
    result.shortened = fmt::format(
        "{}: the model is that of trial {}, which has not seen the interactions held out", over,
        best_model_trial_);
  }
}

void TuneSearch::add_outcome(const TrainingOutcome& outcome, TuneTrial& trial) {
  trial.seconds += outcome.seconds;
  trial.finished = spent();
  if (!outcome.value) {
    if (!trial.value) trial.failure = outcome.failure;
    return;
  }
  trial.value = outcome.value;
  trial.failure.clear();
  if (trial.number > 0) {
    training_seconds_[static_cast<std::size_t>(trial.number) - 1] = outcome.training_seconds;
  }
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
    if (!known->is_cut() || spent() + known->seconds >= search_seconds_) {
      replayed_ += known->seconds;
      runner.model.reset();
      runner.learned.reset();
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
                           ? *best / std::sqrt(static_cast<double>(validation_->by_user.nnz()))
                           : std::sqrt(std::max(0.0, *best * (1.0 - *best)) /
                                       static_cast<double>(result_.measured_users));
  return std::abs(*value - *best) <= kCloseErrors * error;
}

std::vector<std::size_t> TuneSearch::finalists() const {
  std::vector<std::size_t> places;
  bool defaults = false;
  std::set<std::string_view> algorithms;
  const std::vector<const TuneTrial*> ranked = result_.ranked();
  for (const TuneTrial* trial : ranked) {
    const bool of_choice = algorithm_name(trial->params) == choice_;
    const bool first_default = trial->origin == kDefaults && (!defaults || of_choice);
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
  if (by_time()) {
    std::erase_if(places, [&](std::size_t place) {
      return place != places.front() && spent() + model_seconds(place) > options_.budget.seconds;
    });
    double longest_model = 0.0;
    for (const std::size_t place : places) {
      longest_model = std::max(longest_model, model_seconds(place));
    }
    finals_seconds_ = options_.budget.seconds - longest_model;
  }
  if (places.size() < 2 || !result_.baseline.value) return;  // nothing to compare
  std::map<std::size_t, double> sums;
  for (const std::size_t place : places) sums[place] = *result_.trials[place].value;
  TuneTrial& baseline = result_.baseline;
  double of_baseline = *baseline.value;
  std::optional<Split> part;
  double longest = 0.0;
  const int most = most_final_parts(places.size());
  for (int number = 1; number <= most && places.size() > 1; ++number) {
    const double begin = spent();
    if (begin + longest >= finals_seconds_) return;  // not all would end
    std::optional<Interactions> held_out;
    try {
      part = next_part(*whole_, part ? &*part : cut_, options_.split, options_.seed, number);
      held_out = measured(part->test, part->train);
    } catch (const Error& error) {
      if (error.kind() != ErrorKind::kInvalidArgument && error.kind() != ErrorKind::kBadData) throw;
      return;  // users have no more interactions to hold out
    }
    const Interactions& test = held_out ? *held_out : part->test;
    std::map<std::size_t, double> values;
    for (const std::size_t place : places) {
      TuneTrial& trial = result_.trials[place];
      const std::optional<double> value = final_value(trial, part->train, test, number);
      if (spent() >= finals_seconds_) return;
      if (value) values[place] = *value;
      if (run_.on_trial) run_.on_trial({result_, trial, seconds_left()});
    }
    const std::optional<double> beside = final_value(baseline, part->train, test, number);
    if (!beside || spent() >= finals_seconds_) return;
    of_baseline += *beside;
    std::erase_if(places, [&](std::size_t place) { return !values.contains(place); });
    result_.final_parts = number + 1;
    baseline.final_value = of_baseline / result_.final_parts;
    for (TuneTrial& trial : result_.trials) trial.final_value.reset();
    for (const std::size_t place : places) {
      sums[place] += values[place];
      result_.trials[place].final_value = sums[place] / result_.final_parts;
    }
    longest = std::max(longest, spent() - begin);
  }
}

std::optional<double> TuneSearch::final_value(TuneTrial& trial, const Interactions& training,
                                              const Interactions& test, int number) {
  TrainingOutcome outcome;
  if (const TrainingOutcome* known = journal_->find(trial.params, number)) {
    outcome = *known;
    replayed_ += outcome.seconds;
  } else {
    const Clock::time_point begin = run_.now();
    stop_at(finals_seconds_);
    try {
      (void)train_once(trial.params, training, test, outcome);
    } catch (const Error& error) {
      note_failure(error, outcome);
    }
    if (spent() >= finals_seconds_) return std::nullopt;  // perhaps not trained to the end
    outcome.seconds = since(begin);
    journal_->add(trial.params, number, outcome);
  }
  trial.seconds += outcome.seconds;
  return outcome.value;
}

void TuneSearch::note_failure(const Error& error, TrainingOutcome& outcome) const {
  run_.control.check();
  switch (error.kind()) {
    case ErrorKind::kCancelled:
      outcome.stop_reason = "stopped";
      outcome.failure = "nothing was measured in the time that the budget left for it: give more";
      return;
    case ErrorKind::kBadData:
      outcome.stop_reason = "refused";
      outcome.failure = error.message();
      return;
    case ErrorKind::kNumerical:
    case ErrorKind::kOutOfMemory:
    case ErrorKind::kInvalidArgument:
      outcome.failure = error.message();
      return;
    case ErrorKind::kDevice:
    case ErrorKind::kNotFound:
    case ErrorKind::kIo:
      break;
  }
  throw;  // NOLINT: called where it was caught
}

TrainingOutcome TuneSearch::train_now(const TrainingParams& params, Runner& runner,
                                      bool iterating) {
  const Clock::time_point begin = run_.now();
  TrainingOutcome outcome;
  try {
    if (iterating) {
      train_on(params, runner, outcome);
    } else {
      runner.learned =
          std::make_shared<Model>(train_once(params, train_part_, *validation_, outcome));
    }
    run_.control.check();
  } catch (const Error& error) {
    note_failure(error, outcome);
    runner.model.reset();
  }
  outcome.seconds = since(begin);
  return outcome;
}

Model TuneSearch::train_once(const TrainingParams& params, const Interactions& training,
                             const Interactions& validation, TrainingOutcome& outcome) const {
  const Clock::time_point begin = run_.now();
  const Device& device = device_of(algorithm_name(params));
  ResolvedRun how;
  how.control.cancel = &watch_.flag();
  Model model = train(training, params, device, how);
  outcome.training_seconds = since(begin);
  how.validation = &validation;
  how.validation_metric = result_.metric.key;
  take_value(make_measure(model, device, how)(model.learned), outcome);
  return model;
}

void TuneSearch::train_on(const TrainingParams& params, Runner& runner,
                          TrainingOutcome& outcome) const {
  std::optional<Factors> newest;
  ResolvedRun how;
  how.stop = &watch_.flag();
  how.validation = validation_;
  how.validation_metric = result_.metric.key;
  how.resume = runner.model ? &*runner.model : nullptr;
  how.on_iteration = [&](const TrainingState& state) {
    const bool is_last = state.iterations.back().iteration == state.most_iterations;
    if ((is_last || *how.stop) && state.best != nullptr) newest = state.factors().clone();
  };
  Model model = train(train_part_, params, device_of(algorithm_name(params)), how);
  take_value(model.best_validation(), outcome);
  outcome.iterations = model.iterations.back().iteration;
  outcome.best_iteration = model.best_iteration;
  outcome.stop_reason = model.stop_reason;
  for (const Iteration& one : model.iterations) {
    if (one.iteration <= model.best_iteration) outcome.training_seconds += one.seconds;
  }
  const bool goes_on = newest || model.best_iteration == outcome.iterations;
  model.last = std::move(newest);
  runner.learned = std::make_shared<Model>(std::move(model));
  runner.model = goes_on ? runner.learned : nullptr;
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
