// SPDX-License-Identifier: Apache-2.0
#include "training/train.h"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/algorithm.h"
#include "algorithms/iteration_run.h"
#include "algorithms/parameters/rules.h"
#include "core/placed_error.h"
#include "core/require.h"
#include "core/system/utc_now.h"
#include "likewise/error.h"
#include "likewise/model.h"
#include "likewise/parameters.h"
#include "model/checkpoint.h"
#include "training/iterate.h"
#include "training/learning.h"
#include "training/merge_interactions.h"
#include "training/validation.h"

namespace likewise {
namespace {

/// Of the model resumed, with what this request chose.
[[nodiscard]] std::vector<ParameterOrigin> origins_after(
    const std::vector<ParameterOrigin>& earlier, const std::vector<ParameterOrigin>& now) {
  std::map<std::string, Origin> origins;
  for (const ParameterOrigin& one : earlier) origins[one.name] = one.origin;
  for (const ParameterOrigin& one : now) {
    if (one.origin == Origin::kChosen) origins[one.name] = Origin::kChosen;
  }
  std::vector<ParameterOrigin> merged;
  for (const auto& [name, origin] : origins) merged.push_back({name, origin});
  return merged;
}

/// Everything but what is to be learned.
[[nodiscard]] Model start_model(const Interactions& data, const TrainingParams& params,
                                const Device& device, const ResolvedRun& run) {
  Model model;
  model.params = params;
  model.users = data.users.share();
  model.items = data.items.share();
  model.history = data.by_user.share();
  model.provenance.source = run.source;
  model.provenance.created = utc_now();
  model.provenance.device = device_text(device);
  model.provenance.choice = run.choice;
  model.provenance.origins = run.origins;
  if (run.resume != nullptr) {
    model.provenance.choice = run.resume->provenance.choice;
    model.provenance.origins = origins_after(run.resume->provenance.origins, run.origins);
    model.provenance.search = run.resume->provenance.search;
  }
  return model;
}

void require_validation_as_planned(const TrainingPlan& plan, const TrainingRun& run) {
  require(plan.validation || (run.validation == nullptr && run.validation_candidates == nullptr),
          "the plan of this training says nothing of validation data: ask for it in the request");
  const bool has_candidates = run.validation_candidates != nullptr;
  require(!plan.validation || plan.validation->has_candidates == has_candidates,
          has_candidates ? "the plan of this training ranks all items, but candidates are given"
                         : "the plan of this training ranks candidates, and there are none");
}

/// Of algorithms without iterations.
void check_not_stopped(const ResolvedRun& run) {
  RunControl control;
  control.cancel = run.stop;
  control.check();
}

/// 0 where it does not iterate.
template <class Params>
[[nodiscard]] int iterations_of(const Params& params) {
  if constexpr (requires { params.iterations; }) return params.iterations;
  return 0;
}

void require_no_iterations(const TrainingParams& params, const ResolvedRun& run) {
  if (iterates(params)) return;
  const auto refuse = [&](bool given, const char* what) {
    require(!given, fmt::format("{} needs an algorithm that iterates, as als: {} does not", what,
                                algorithm_name(params)));
  };
  refuse(run.target.has_value(), "a target");
  refuse(!run.checkpoint.path.empty(), "a checkpoint");
  refuse(run.resume != nullptr, "resuming");
  refuse(run.start != nullptr, "a start from given factors");
}

/// What was measured by one metric cannot go on with another.
void require_same_metric(const Model& earlier, const ResolvedRun& run) {
  const auto named = [](const std::string& metric, const std::string& among) {
    return among.empty() ? metric : fmt::format("{} among {}", metric, among);
  };
  const std::string now = named(usual_metric(run, earlier).key, validated_among(run));
  const std::string before = named(earlier.validation_metric, earlier.validation_among);
  require(run.validation == nullptr || earlier.validation_metric.empty() || before == now,
          fmt::format("validation metric {}: what is resumed was measured by {}", now, before));
}

/// A model that is over comes back as it is: other parameters would only be written into it.
void require_unchanged(const TrainingParams& before, const TrainingParams& now, int iterations) {
  constexpr std::string_view kOfStopping[] = {"iterations", "tolerance", "patience"};
  for (const ParameterInfo& parameter : parameters_of(algorithm_name(now))) {
    const std::string text = parameter_text(now, parameter.name);
    const bool same = text == parameter_text(before, parameter.name) ||
                      std::ranges::find(kOfStopping, parameter.name) != std::end(kOfStopping);
    require(same,
            fmt::format("{} would do nothing: the training that is resumed is over, after {}; "
                        "give it more of them, or leave {} out",
                        mention(parameter.name, text), counted(iterations, "iteration"),
                        mention(parameter.name)));
  }
}

/// Whether `earlier` had been trained to the end with these parameters; it is the answer then.
[[nodiscard]] bool is_over(const Model& earlier, const Stopping& stopping,
                           const Validation& validation, Model& model) {
  if (earlier.last) return false;
  std::string reason =
      stop_reason(earlier.iterations, stopping, validation, earlier.best_iteration);
  if (reason.empty()) return false;
  require_unchanged(earlier.params, model.params, static_cast<int>(earlier.iterations.size()));
  if (validation.evaluate) {
    (void)resumed_best(earlier.iterations, validation, earlier.best_iteration);
  }
  model.learned = std::get<Factors>(earlier.learned).clone();
  model.iterations = earlier.iterations;
  model.best_iteration = earlier.best_iteration;
  model.stop_reason = std::move(reason);
  return true;
}

}  // namespace

void Learning::at_once(const std::function<Learned()>& train) const {
  check_not_stopped(run_);
  Measure measure;
  if (run_.validation != nullptr) {
    measure = make_measure(model_, device_, run_);
    model_.validation_metric = usual_metric(run_, model_).key;
    model_.validation_among = validated_among(run_);
  }
  model_.learned = train();
  if (measure) model_.validation = measure(model_.learned);
}

void Learning::by_iterations(
    const Stopping& stopping,
    const std::function<IterationResult(const IterationRun&)>& train) const {
  require(stopping.patience == 0 || run_.validation != nullptr,
          fmt::format("{} needs validation data to be patient about",
                      mention("patience", fmt::format("{}", stopping.patience))));
  check_target(run_);
  require(
      run_.checkpoint.every >= 1,
      fmt::format("a checkpoint every {} iterations: it must be 1 or more", run_.checkpoint.every));
  refuse_other_files(run_.checkpoint.path);
  IterationRun loop;
  loop.control.cancel = run_.control.cancel;
  loop.stop = run_.stop;
  loop.on_plan = run_.on_plan;
  loop.start = run_.start;
  if (run_.resume != nullptr) {
    require(run_.start == nullptr, "a training that is resumed starts from its model alone");
    require_resumable(*run_.resume, model_.params);
    require_same_ids(*run_.resume, data_);
    require_same_metric(*run_.resume, run_);
    resume_from(*run_.resume, loop);
    model_.validation_metric = run_.resume->validation_metric;
    model_.validation_among = run_.resume->validation_among;
  }
  if (run_.validation != nullptr) {
    loop.validation = make_validation(model_, device_, run_);
    model_.validation_metric = loop.validation.metric;
    model_.validation_among = validated_among(run_);
  }
  if (run_.resume != nullptr && is_over(*run_.resume, stopping, loop.validation, model_)) return;
  std::optional<HeldFile> checkpoint;
  HeldFile* held = run_.checkpoint.held;
  if (held == nullptr && !run_.checkpoint.path.empty())
    held = &checkpoint.emplace(run_.checkpoint.path);
  loop.on_iteration = [&](const TrainingState& state) {
    if (run_.on_iteration) run_.on_iteration(state);
    const bool due = state.iterations.back().iteration % run_.checkpoint.every == 0;
    if (held != nullptr && due) save_checkpoint(model_, state, *held);
  };
  IterationResult result = train(loop);
  model_.learned = std::move(result.factors);
  model_.iterations = std::move(result.iterations);
  model_.best_iteration = result.best_iteration;
  model_.stop_reason = std::move(result.stop_reason);
}

void require_resumable(const Model& earlier, const TrainingParams& params) {
  require(iterates(earlier.params) && earlier.algorithm() == algorithm_name(params),
          fmt::format("a training by {} cannot go on from a model of {}", algorithm_name(params),
                      earlier.algorithm()));
  require(
      earlier.user_features.empty() && earlier.item_features.empty(),
      "a model that has learned features is finished: resume its checkpoint, update it or train "
      "anew");
  for (const ParameterInfo& parameter : parameters_of(earlier.algorithm())) {
    const std::string begun = parameter_text(earlier.params, parameter.name);
    const std::string asked = parameter_text(params, parameter.name);
    require(begun == asked || !fixed_by_resume(earlier.params, parameter.name),
            fmt::format("{}: what is resumed was begun with {}; leave it out",
                        mention(parameter.name, asked), begun));
  }
  const int done = earlier.iterations.empty() ? 0 : earlier.iterations.back().iteration;
  const int wanted = std::visit([](const auto& some) { return iterations_of(some); }, params);
  require(wanted >= done, fmt::format("{}: what is resumed has done {} already",
                                      mention("iterations", fmt::format("{}", wanted)), done));
}

Model train(const TrainingPlan& plan, const Interactions& data, const TrainingRun& run) {
  require_validation_as_planned(plan, run);
  ResolvedRun resolved{run};
  if (plan.validation) {
    resolved.validation_metric = plan.validation->metric;
    resolved.validation_negatives = plan.validation->negatives;
    resolved.target = plan.validation->target;
  }
  resolved.resume = plan.resume;
  resolved.choice = plan.algorithm_reason;
  resolved.origins = plan.origins;
  return train(data, plan.params, plan.device.device, resolved);
}

Model train(const Interactions& data, const TrainingParams& params, const Device& device,
            const ResolvedRun& run) {
  validate(params);
  require_no_iterations(params, run);
  check_validation(run);
  std::optional<Interactions> ordered;
  if (run.resume != nullptr) ordered = in_order_of(run.resume->users, run.resume->items, data);
  const Interactions& used = ordered ? *ordered : data;
  Model model = start_model(used, params, device, run);
  naming_ids(used.users, used.items, used,
             [&] { algorithm_of(model.params)->learn(Learning(used, device, run, model)); });
  return model;
}

}  // namespace likewise
