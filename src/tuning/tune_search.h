// SPDX-License-Identifier: Apache-2.0
/// The course of a search for parameters (likewise/tune.h): its rounds, brackets, trials and final
/// round, as far as the budget goes.
#pragma once

#include <chrono>
#include <functional>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json.hpp>

#include "likewise/tune.h"
#include "tuning/journal.h"
#include "tuning/search_space.h"
#include "tuning/stop_watch.h"

namespace likewise {

/// What the options ask for, or their feedback suggests.
[[nodiscard]] NamedMetric metric_of(const TuneOptions& options);
[[nodiscard]] std::vector<std::string> algorithms_of(const TuneOptions& options);

/// Whether it compares predicted ratings.
[[nodiscard]] bool is_of_ratings(const NamedMetric& metric);

/// The validation part behind `number - 1` others: drawn parts are drawn again, of the newest
/// interactions those before the ones of `last` are taken. Throws Error(kInvalidArgument) where
/// nothing is left to hold out.
[[nodiscard]] Split next_part(const Interactions& whole, const Split* last, SplitOptions how,
                              std::uint64_t seed, int number);

/// As in "per-user 0.2".
[[nodiscard]] std::string spread_text(const SplitOptions& split);

class TuneSearch {
 public:
  /// `whole` and its cut; null where the validation part was given.
  TuneSearch(const Interactions& train_part, const Interactions& validation,
             const Interactions* whole, const Split* cut, const TuneOptions& options,
             const TuneRun& run);

  /// Everything but the winner's model. Where no trial has a value the journal is over, so that it
  /// is in nobody's way.
  [[nodiscard]] TuneResult run();
  [[nodiscard]] const Device& device_of(std::string_view algorithm) const;
  [[nodiscard]] Journal& journal() { return *journal_; }
  /// Trains result.for_everything on `all`, or says what the model lacks. Throws Error(kCancelled)
  /// where the caller asked to stop.
  void train_winner(const Interactions& all, TuneResult& result);

 private:
  using Clock = std::chrono::steady_clock;

  /// A trial under way.
  struct Runner {
    std::size_t trial;                 ///< its place in TuneResult::trials
    bool over = false;                 ///< failed, or without a better validation for long
    bool cut = false;                  ///< without a value: the time for it was over
    std::shared_ptr<Model> model{};    ///< where it stands; none: trained again when it goes on
    std::shared_ptr<Model> learned{};  ///< of its last training; none: of a journal
  };

  void choose_measured_users();
  [[nodiscard]] Device device_for(const TrainingParams& params) const;
  /// The device, where one has the job and takes the parameters.
  [[nodiscard]] std::optional<Device> taken_by(const TrainingParams& params) const;
  /// Of a training, by all threads.
  [[nodiscard]] double estimated_seconds(const TrainingParams& params) const;
  /// Of a budget of time: what lets each algorithm have kFairTrials trials; or what one of those
  /// that are searched anyway takes by its defaults, as long as all can have so much once.
  [[nodiscard]] double fair_share(const std::vector<TrainingParams>& defaults) const;
  void add_algorithm(const TrainingParams& defaults, double share);
  /// The defaults for the data, where a training by them takes no more than the share of a budget
  /// of time; else by a form that does, as result_.notes says, or nothing where there is none, as
  /// result_.left_out says.
  [[nodiscard]] std::optional<TrainingParams> affordable(const TrainingParams& usual, double share);

  /// What has to be the same for a journal to go on.
  [[nodiscard]] nlohmann::ordered_json description() const;

  // The budget.

  [[nodiscard]] bool by_time() const { return options_.budget.trials == 0; }
  /// Earlier runs of a resumed search included.
  [[nodiscard]] double since(Clock::time_point begin) const;  ///< seconds
  [[nodiscard]] double spent() const;
  [[nodiscard]] int trials_left() const;
  /// Of a budget of time, as much as the best so far needs to be trained on everything, and the
  /// finalists for all parts.
  void keep_time_for_the_end();
  /// That training a trial's parameters on everything will take.
  [[nodiscard]] double model_seconds(std::size_t place) const;
  /// When a training that begins now is broken off: where it could not be done again on everything,
  /// at the end of the search, at `until`.
  void limit_training(const TuneTrial& trial, double until);
  /// Stops what runs when so many seconds of the search are spent.
  void stop_at(double seconds);
  [[nodiscard]] bool is_over() const { return by_time() ? is_late() : trials_left() <= 0; }
  [[nodiscard]] bool is_late() const { return spent() >= search_seconds_; }
  [[nodiscard]] double seconds_left() const;

  // The course.

  void measure_baseline();

  /// In result_.left_out: a budget of time may be over before an algorithm's turn.
  void note_those_without_trials();

  void search();

  /// Of every algorithm first, with as many iterations as they say, that of auto before the others:
  /// a search does not end with less.
  void try_defaults();
  /// With a budget of time: what auto would take, then the others with few iterations, then these
  /// to their end.
  void try_defaults_in_time();
  /// The algorithms, that of auto first, then those whose defaults cost least.
  [[nodiscard]] std::vector<std::size_t> by_choice() const;
  [[nodiscard]] int fewest_iterations(std::size_t algorithm) const;
  /// The defaults; where they get no value in time, the parameters that are trained fastest.
  void try_default(std::size_t algorithm, int iterations, double until);
  void finish_default(std::size_t algorithm, double until);

  /// Algorithms that have no value yet are the worst.
  void keep_better_half_and_close(std::vector<std::size_t>& active) const;

  /// Whether the first validation part is too small to tell them apart: by a standard error of the
  /// best that is no less than the true one, as a user's value is in [0, 1]; of ratings, by that of
  /// normal errors.
  [[nodiscard]] bool is_close(std::optional<double> value, std::optional<double> best) const;

  void run_bracket(std::size_t algorithm, int round, std::size_t turns_left);

  /// Of the trials that took this step, models of those that cannot be among the `going_on` best
  /// any more are let go.
  void forget_worse(std::vector<Runner>& runners, int stepped, int going_on) const;

  [[nodiscard]] Runner new_trial(TrainingParams params, std::string origin);

  /// A trial by new parameters.
  [[nodiscard]] Runner drawn(std::size_t algorithm, int round, int place);

  /// Whether no trial has had these parameters; from now on one has.
  [[nodiscard]] bool is_new(std::size_t algorithm, const TrainingParams& params);

  /// Trains a trial up to so many iterations, from where it stands, or takes from the journal what
  /// that came to. Nothing where it has had as many. An algorithm that refuses the data, or that
  /// measures nothing in the time left, leaves the search.
  void step(Runner& runner, std::size_t algorithm, int iterations,
            double until = std::numeric_limits<double>::infinity());

  void add_outcome(const TrainingOutcome& outcome, TuneTrial& trial);
  /// With a budget of time: the model to fall back on, where the trial is the best so far.
  void keep_best_model(Runner& runner);

  [[nodiscard]] TrainingOutcome outcome_of(const TrainingParams& params, Runner& runner,
                                           bool iterating);

  // The final round.

  [[nodiscard]] int most_final_parts(std::size_t finalists) const;

  [[nodiscard]] std::vector<std::size_t> finalists() const;
  [[nodiscard]] bool is_like_one_of(const TuneTrial& trial,
                                    const std::vector<std::size_t>& places) const;

  /// All of them on one part after another, as far as one of them could still be trained on
  /// everything. A part that not all could be measured on in time does not count.
  void compare_finalists();

  /// Trained for the iterations that were its best; none where that failed.
  [[nodiscard]] std::optional<double> final_value(TuneTrial& trial, const Interactions& training,
                                                  const Interactions& test, int number);

  [[nodiscard]] Index users_to_measure(Index users) const;
  /// The part of the users that trials are measured on; nothing where that is all of it.
  [[nodiscard]] std::optional<Interactions> measured(const Interactions& part,
                                                     const Interactions& training) const;

  [[nodiscard]] TrainingOutcome train_now(const TrainingParams& params, Runner& runner,
                                          bool iterating);
  /// Trains to the end, then measures.
  Model train_once(const TrainingParams& params, const Interactions& training,
                   const Interactions& validation, TrainingOutcome& outcome) const;
  /// Measures after each iteration.
  void train_on(const TrainingParams& params, Runner& runner, TrainingOutcome& outcome) const;
  /// Writes down why there is no value; throws on what ends a search.
  void note_failure(const Error& error, TrainingOutcome& outcome) const;

  [[nodiscard]] bool is_better(std::optional<double> a, std::optional<double> b) const;
  [[nodiscard]] std::optional<double> value_of(const Runner& runner) const;
  [[nodiscard]] std::optional<double> best_value(std::size_t algorithm) const;

  /// Of one algorithm: how many points were drawn for its trials.
  struct Counts {
    int quasi_random = 0;
    int near = 0;
  };

  const Interactions& train_part_;
  const Interactions* validation_;
  const Interactions* whole_;
  const Split* cut_;
  const TuneOptions& options_;
  const TuneRun& run_;
  Clock::time_point begin_;
  StopWatch watch_;
  std::optional<Interactions> measured_;  ///< of the validation part, where that is not all of it
  double growth_ = 1.0;                   ///< entries of everything over those of the training part
  double finals_seconds_ = std::numeric_limits<double>::infinity();  ///< when final values end
  double replayed_ = 0.0;  ///< seconds of what the journal held
  /// Of a budget of time, what comes before the final round.
  double search_seconds_ = std::numeric_limits<double>::infinity();
  TuneResult result_;
  std::vector<SearchSpace> spaces_;
  std::map<std::string, Device, std::less<>> devices_;
  /// The algorithms of the options and what trains them, for the journal: which of them a budget of
  /// time is long enough for may change when a search goes on.
  std::vector<std::string> asked_;
  std::string choice_;                        ///< of auto; empty: not asked
  std::vector<std::optional<Runner>> first_;  ///< of each algorithm the trial by its defaults
  std::vector<char> out_;                     ///< of each algorithm: it left the search
  std::vector<double> training_seconds_;      ///< of each trial, to its best iteration
  std::vector<std::optional<std::size_t>> best_of_;  ///< of each algorithm: a place in the trials
  std::shared_ptr<Model> best_model_;                ///< to fall back on; null: none
  int best_model_trial_ = 0;
  std::vector<Counts> counts_;
  std::set<std::string> tried_;  ///< algorithms with their searched parameters
  std::unique_ptr<Journal> journal_;
};

}  // namespace likewise
