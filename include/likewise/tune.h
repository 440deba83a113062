// SPDX-License-Identifier: Apache-2.0
/// The search for good parameters: of one or several algorithms, by a metric on held-out
/// interactions. Which parameters are searched, and where, is said beside their descriptions
/// (searched_parameters() in likewise/parameters.h). math.md has the method:
///
/// The defaults for the data first, those of auto's choice before the others, then quasi-random
/// starts; trials go on by successive halving
/// (Jamieson and Talwalkar 2016) in several brackets, as in Hyperband (Li et al. 2018); later ones
/// are drawn near the best so far; algorithms that stay behind leave the search. In the end the
/// best trials are measured on further validation parts: one part makes the luckiest of many win.
/// Trials run one after another, each with all threads.
///
/// With a budget of time what "auto" would take comes first, then the others with few
/// iterations, or with few factors where that is too long: nothing that takes long is begun before
/// all had a turn. A training or validation that the time left does not allow is broken off.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/evaluation.h"
#include "likewise/features.h"
#include "likewise/interactions.h"
#include "likewise/model.h"
#include "likewise/parameters.h"
#include "likewise/read.h"
#include "likewise/split.h"

namespace likewise {

/// How long to search: either a number of trials, or seconds.
struct TuneBudget {
  int trials = 0;
  double seconds = 0.0;
  std::string text{};  ///< as it was asked for
};
/// "200" trials, or a time: "30s", "10m", "1.5h". Throws Error(kInvalidArgument) on what is
/// neither, and on nothing at all.
[[nodiscard]] TuneBudget parse_budget(const std::string& text);

/// The algorithms that learn from this feedback and have something to search; of a search with
/// features those that have factors.
[[nodiscard]] std::vector<std::string_view> tuned_algorithms(Feedback feedback,
                                                             bool has_features = false);

/// Opens the device for a training of these parameters that also does the jobs.
using OpenToTrain = std::function<Device(const TrainingParams&, std::span<const Job>)>;

/// What a search for all algorithms is among where the device is a given one.
struct TrainedAlgorithms {
  std::vector<std::string> algorithms{};
  std::vector<std::string> left_out{};  ///< the others, with the reasons (TuneResult::notes)
};
/// Those of tuned_algorithms() whose defaults `open` has a device for. Throws what it throws for
/// the first, where it has none for any.
[[nodiscard]] TrainedAlgorithms trained_algorithms(Feedback feedback, const OpenToTrain& open,
                                                   bool has_features = false);

struct TuneOptions {
  std::vector<std::string> algorithms{};  ///< empty: all of tuned_algorithms()
  Feedback feedback = Feedback::kImplicit;
  std::string metric{};  ///< as parse_metric(); empty: ndcg@10, or rmse for ratings
  TuneBudget budget = parse_budget("10m");
  /// How the validation part is cut from the data, where no other is given. Not by folds; its seed
  /// is `seed`. Where a share of each user, at least one, is over 1.25 times the share of all
  /// interactions, users are drawn who have nothing held out.
  SplitOptions split = validation_split();
  std::uint64_t seed = 42;    ///< of the points and of the split; models have their own default
  bool has_features = false;  ///< TuneRun::features are there: algorithms with factors alone

  /// Throws Error(kInvalidArgument) naming what was given and what it may be.
  void validate() const;
};

/// One set of parameters.
struct TuneTrial {
  int number = 0;         ///< from 1; 0 is the baseline
  TrainingParams params;  ///< with the iterations of `best_iteration`, where it has some
  /// "baseline", "defaults", "smallest" (by as few factors as are searched), "quasi-random" or
  /// "near 12"
  std::string origin;
  /// The best validation so far; none where the algorithm refused the data, where training failed,
  /// and where the time was over before anything was measured.
  std::optional<double> value{};
  std::string failure{};  ///< why, with parameters as mention() writes them
  /// The mean over all validation parts, of a trial of the final round and of the baseline.
  std::optional<double> final_value{};
  int iterations = 0;      ///< done; 0 of algorithms without iterations
  int best_iteration = 0;  ///< whose validation `value` is
  double seconds = 0.0;    ///< its trainings and their validation took
  double finished = 0.0;   ///< seconds of the search when it was last trained
};

/// Of one searched parameter: how much of what trials differ in it explains.
struct ParameterImportance {
  std::string algorithm;
  std::string parameter;
  /// The corrected correlation ratio of the ranks of the trials' values, in groups of like values
  /// of the parameter (math.md); 0: nothing, 1: all.
  double share = 0.0;
};

struct TuneResult {
  NamedMetric metric;
  TuneTrial baseline;             ///< popular for lists, bias for ratings
  std::vector<TuneTrial> trials;  ///< in the order of their numbers
  /// Of each algorithm: its defaults for the data, those of its first trial.
  std::vector<TrainingParams> usual;
  /// The trial of what `train` would take: the defaults of auto's choice, or of the only algorithm
  /// that is searched. 0: none, as where auto chooses an algorithm that is not searched.
  int choice = 0;
  /// Validation parts that final values are means over; 0: there was no final round, as with a
  /// validation part that was given, or with one trial.
  int final_parts = 0;
  /// With something held out.
  Index validation_users = 0;
  /// Of these, by metrics of lists: those without a history in the training part. What they are
  /// served is what is popular, whatever the model is, so no trial is measured on them.
  Index users_not_ranked = 0;
  /// Of the others, those that every trial was measured on: fewer where a budget of time is short
  /// of lists for all. Drawn by TuneOptions::seed.
  Index measured_users = 0;
  /// Lines of the journal to resume that are broken: what they noted was trained again.
  std::vector<std::size_t> broken_lines{};
  /// Of algorithms that a budget of time is too short for: what is searched instead. And which
  /// algorithms do not see that values fade. They may hold parameters as mention() writes them.
  std::vector<std::string> notes{};
  /// Algorithms that it is too short for, and those whose turn did not come, with the reason, as
  /// in notes.
  std::vector<std::string> left_out{};
  double seconds = 0.0;     ///< those of earlier runs of a resumed search included
  std::string stop_reason;  ///< "budget", or "stopped"
  /// Of the best trial's parameters, for both parts. What is searched about what suits the part
  /// that trials are trained on, as the weights of implicit ALS, is there as far from what suits
  /// both parts. Of `choice` it is what `train` would take, its iterations too. There as well where
  /// the search was stopped after a trial with a value.
  TrainingParams for_everything{};
  /// Trained on both parts by these; none where the search was stopped. Where the time of the
  /// budget was over first: its iterations so far, or else the model of a trial.
  std::optional<Model> model{};
  LearnedTables features{};   ///< what the model learned of TuneRun::features
  int model_trial = 0;        ///< the trial whose parameters the model has: of best(), or that one
  bool on_everything = true;  ///< whether the model knows both parts
  std::string shortened{};    ///< what the model lacks where the time was over first; else empty

  /// Null where no trial has a value. Of equal ones the earliest. `choice`, where none is better
  /// than it by 0.5 %, of metrics of lists: less is luck as often as not (math.md).
  [[nodiscard]] const TuneTrial* best() const;
  /// The trial of the model, with the model's parameters: needs one.
  [[nodiscard]] TuneTrial winner() const;
  /// All that have a value, the best first: those of the final round by their final values, then
  /// the others by their values.
  [[nodiscard]] std::vector<const TuneTrial*> ranked() const;
  /// What was searched of a trial's algorithm, with the ranges beside its values; nothing of the
  /// baseline.
  [[nodiscard]] std::vector<SearchedParameter> searched(const TuneTrial& trial) const;
  /// Whether a trial with a value is better than the baseline: by final values, where it has one.
  [[nodiscard]] bool beats_baseline(const TuneTrial& trial) const;
  [[nodiscard]] bool beats_baseline() const;  ///< whether the best trial is
  /// What says how good a trial with a value is: its final value, or where it has none its value.
  [[nodiscard]] static double value_of(const TuneTrial& trial);
  /// The baseline's on the same parts; it needs a value.
  [[nodiscard]] double baseline_beside(const TuneTrial& trial) const;
  /// "mean of 3 parts", where value_of() is one; else empty.
  [[nodiscard]] std::string parts_text(const TuneTrial& trial) const;
  /// What to say where it is not, and where the time was over before the model was done; else
  /// empty.
  [[nodiscard]] std::string warning() const;
  /// Why trials have no value: "als: the reason (3 trials)"; parameters as mention() writes them.
  [[nodiscard]] std::vector<std::string> failures() const;
  /// "10000 of 138493 users": on whom trials were measured, where that is not everybody with a
  /// history; else empty.
  [[nodiscard]] std::string sample_text() const;
  /// Of the algorithms with at least 8 trials that have a value, the largest first.
  [[nodiscard]] std::vector<ParameterImportance> importance() const;
};

/// After every training of the search.
struct TuneProgress {
  const TuneResult& so_far;
  const TuneTrial& trial;     ///< that was trained last
  double seconds_left = 0.0;  ///< of a budget of time; of trials, as long as they took so far
};

/// What goes with a search.
struct TuneRun {
  /// `cancel` ends the search, within a block of work, and the training of the winner: the result
  /// so far comes back without a model. Before the baseline is measured it throws
  /// Error(kCancelled).
  RunControl control{};
  /// Held-out interactions, in place of a part cut from the data.
  const Interactions* validation = nullptr;
  std::string validation_source{};  ///< for ModelSearch
  /// What a pair that is in the data and in `validation` becomes when the winner is trained.
  Duplicates duplicates = Duplicates::kLast;
  std::string source{};  ///< for Provenance
  /// The model learns them, after the search and outside a budget of time. Trials are without: what
  /// is known of items leaves lists of those with interactions as they are. Null: none.
  const FeatureTables* features = nullptr;
  /// Written as the search goes, a line for each training; empty: none. No other search writes it
  /// meanwhile.
  std::string journal{};
  /// Goes on with the journal: what it holds is not trained again. The winner is that of a search
  /// that nobody ended, where the budget is one of trials.
  bool resume = false;
  /// Empty: the device of open_device_to_train("auto"). The baseline is always trained by the CPU.
  OpenToTrain open{};
  std::function<void(const TuneProgress&)> on_trial{};
  /// Called before the winner is trained.
  std::function<void(const TuneResult&)> on_winner{};
  /// What times are measured by. Two threads call it.
  std::function<std::chrono::steady_clock::time_point()> now = std::chrono::steady_clock::now;
};

/// Searches, and trains the winner on everything. Deterministic in (data, options) with a budget of
/// trials, except for times; neither threads nor the order of rows matter. A budget of time has the
/// final round in it, of trials it comes after them. A budget of time has the training of the
/// winner in it, too, as long as its trial says that it will take; what is not over within a second
/// of the budget is stopped within a block of work, and the result says what the model lacks. Where
/// a journal held all trials, so that there is no model to fall back on, the winner is trained to
/// its end. What an algorithm has against the data is told by its trial, and the search goes on.
/// Errors: kInvalidArgument (options; features that they do not tell of, or no features; a budget
/// that was over before the first trial began; a metric that does not fit the feedback; a journal
/// of another search, or of one that is not over without `resume`), kBadData (nothing to validate
/// on, or nobody with a history, with the reason; features as check_features()), kNumerical where
/// no trial has a value, with all reasons, kIo (also while another search writes it) and kNotFound
/// for the journal, and those of train().
[[nodiscard]] TuneResult tune(const Interactions& data, const TuneOptions& options,
                              const TuneRun& run = {});

/// Throws what tune() would say of the journal's name and of what is there, before anything is
/// read.
void check_journal(const std::string& path, bool resume);

}  // namespace likewise
