// SPDX-License-Identifier: Apache-2.0
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "background.h"
#include "features.h"
#include "interactions.h"
#include "likewise/training.h"
#include "likewise/tune.h"
#include "model.h"
#include "names.h"
#include "parameters.h"

namespace likewise::python {
namespace {

[[nodiscard]] nb::dict trial_of(const TuneTrial& trial) {
  nb::dict line;
  line["trial"] = trial.number;
  line["algorithm"] = std::string(algorithm_name(trial.params));
  line["origin"] = trial.origin;
  line["value"] = trial.value;
  line["final_value"] = trial.final_value;
  line["iterations"] = trial.iterations;
  line["best_iteration"] = trial.best_iteration;
  line["seconds"] = trial.seconds;
  line["finished"] = trial.finished;
  line["failure"] = spelled(trial.failure, as_keyword);
  line["params"] = dict_of(trial.params);
  return line;
}

/// Of a search that was stopped: the best so far, with the parameters that a model would have.
[[nodiscard]] TuneTrial winner_of(const TuneResult& result) {
  if (result.model) return result.winner();
  TuneTrial best = *result.best();
  best.params = result.for_everything;
  return best;
}

/// Of a search that has a trial with a value.
[[nodiscard]] nb::dict result_of(const TuneResult& result) {
  nb::dict told;
  told["metric"] = result.metric.key;
  told["higher_is_better"] = higher_is_better(result.metric.name);
  told["beats_baseline"] = result.beats_baseline();
  told["warning"] = result.warning();
  nb::list notes;
  add_notes(result.notes, notes);
  told["notes"] = notes;
  told["final_parts"] = result.final_parts;
  told["validation_users"] = result.validation_users;
  told["users_not_ranked"] = result.users_not_ranked;
  told["measured_users"] = result.measured_users;
  nb::list failures;
  add_notes(result.failures(), failures);
  told["failures"] = failures;
  told["broken_lines"] = result.broken_lines;
  told["seconds"] = result.seconds;
  told["baseline"] = trial_of(result.baseline);
  told["best"] = trial_of(winner_of(result));
  nb::list trials;
  for (const TuneTrial& trial : result.trials) trials.append(trial_of(trial));
  told["trials"] = trials;
  nb::list importance;
  for (const ParameterImportance& one : result.importance()) {
    importance.append(nb::make_tuple(one.algorithm, one.parameter, one.share));
  }
  told["importance"] = importance;
  told["features"] = dict_of(result.features);
  return told;
}

[[nodiscard]] nb::tuple tune_model(const Data& data, const std::vector<std::string>& algorithms,
                                   const std::string& feedback, const std::string& metric,
                                   const std::string& budget, std::uint64_t seed,
                                   const Data* validation, const std::string& validation_source,
                                   const std::string& method, double share,
                                   const nb::object& journal, bool resume, const nb::object& device,
                                   int threads, const std::string& source,
                                   const nb::tuple& features, const nb::object& progress,
                                   const nb::object& on_trial) {
  TuneOptions options;
  options.algorithms = algorithms;
  options.feedback = named<Feedback>(feedback, kFeedbackNames, "feedback");
  options.metric = metric;
  options.budget = parse_budget(budget);
  options.seed = seed;
  options.split.method = named<SplitMethod>(method, kSplitNames, "validation_method");
  options.split.test = share;
  const FeatureTables tables = tables_of(features);
  options.has_features = !tables.empty();
  options.validate();
  std::optional<Device> given;
  std::string name;
  if (nb::isinstance<Device>(device)) {
    given = nb::cast<Device>(device);
  } else {
    name = device_name(device);
  }
  Background background(progress);
  TuneRun run;
  run.control = background.control();
  run.validation = validation != nullptr ? validation->interactions.get() : nullptr;
  run.validation_source = validation_source;
  run.duplicates = data.summary.policy;
  run.source = source;
  run.journal = optional_path(journal);
  run.resume = resume;
  run.features = tables.empty() ? nullptr : &tables;
  run.open = [&](const TrainingParams& params, std::span<const Job> also) {
    return given ? *given : open_device_to_train(name, params, {}, also).device;
  };
  nb::list left_out;
  if (algorithms.empty()) {
    TrainedAlgorithms found = trained_algorithms(options.feedback, run.open, options.has_features);
    options.algorithms = std::move(found.algorithms);
    add_notes(found.left_out, left_out);
  }
  run.on_trial = [&](const TuneProgress& now) {
    run.control.report("search", std::ssize(now.so_far.trials), options.budget.trials, "trials");
    if (!on_trial.is_none()) background.call([&] { on_trial(trial_of(now.trial)); });
  };
  std::optional<TuneResult> result;
  background.run(threads, [&] {
    result = tune(*data.interactions, options, run);
    if (result->best() != nullptr) background.keep_answer();
  });
  const nb::object interruption = background.interruption();
  if (result->best() == nullptr || (!result->model && interruption.is_none())) {
    throw Error(ErrorKind::kCancelled, "the search was stopped");
  }
  nb::dict told = result_of(*result);
  add_notes(result->left_out, left_out);
  told["left_out"] = left_out;
  if (!result->model) return nb::make_tuple(nb::none(), told, interruption);
  return nb::make_tuple(Trained(std::move(*result->model)), told, interruption);
}

}  // namespace

void bind_tuning(nb::module_& module) {
  module.def("tune", &tune_model, "data"_a, "algorithms"_a, "feedback"_a, "metric"_a, "budget"_a,
             "seed"_a, "validation"_a.none(), "validation_source"_a, "validation_method"_a,
             "validation_share"_a, "journal"_a.none(), "resume"_a, "device"_a, "threads"_a,
             "source"_a, "features"_a, "progress"_a, "on_trial"_a);
}

}  // namespace likewise::python
