// SPDX-License-Identifier: Apache-2.0
/// The one place where a training is decided: a request becomes a plan.
#include <algorithm>
#include <iterator>
#include <memory>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/algorithm.h"
#include "algorithms/parameters/rules.h"
#include "likewise/error.h"
#include "likewise/evaluation.h"
#include "likewise/parameters.h"
#include "likewise/recommender.h"
#include "training/choose.h"
#include "training/choose_device.h"
#include "training/choose_measured.h"
#include "training/half_life.h"
#include "training/notes.h"
#include "training/train.h"
#include "training/validation.h"
#include "training/value_readers.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

[[nodiscard]] bool has_parameter(const std::vector<ParameterInfo>& all, std::string_view name) {
  return std::ranges::find(all, name, &ParameterInfo::name) != all.end();
}

[[nodiscard]] std::vector<std::string_view> algorithms_with(std::string_view parameter) {
  std::vector<std::string_view> names;
  std::ranges::copy_if(algorithm_names(), std::back_inserter(names),
                       [&](std::string_view algorithm) {
                         return has_parameter(parameters_of(algorithm), parameter);
                       });
  return names;
}

[[nodiscard]] bool is_auto(const TrainingRequest& request) {
  return request.algorithm == kAutoAlgorithm;
}

/// The algorithm that is named; als where none is.
[[nodiscard]] std::string_view named_algorithm(const TrainingRequest& request) {
  return request.algorithm.empty() ? std::string_view("als") : request.algorithm;
}

void set(TrainingParams& params, const AskedParameter& asked) {
  if (!has_parameter(parameters_of(algorithm_name(params)), asked.name)) {
    const std::vector<std::string_view> owners = algorithms_with(asked.name);
    if (owners.empty()) refuse(fmt::format("there is no parameter {}", printable(asked.name)));
    refuse(fmt::format("{} is for {}, not {}", mention(asked.name),
                       mention("algorithm", fmt::format("{}", fmt::join(owners, " or "))),
                       algorithm_name(params)));
  }
  set_parameter(params, asked.name, asked.text);
}

/// What is chosen and would do nothing beside the others; of those that the data have a say in only
/// once they had it.
void refuse_idle(const TrainingParams& params, const TrainingRequest& request, bool by_data) {
  for (const AskedParameter& asked : request.parameters) {
    if (!asked.chosen || (!by_data && needs_data(params, asked.name))) continue;
    const std::string needs = parameter_needs(params, asked.name);
    if (needs.empty()) continue;
    refuse(fmt::format("{} would do nothing here: it needs {}{}", mention(asked.name), needs,
                       request.resume == nullptr ? "" : "; the rest is as what is resumed has it"));
  }
}

/// The parameters that are asked for, over `params`.
[[nodiscard]] TrainingParams with_asked(TrainingParams params, const TrainingRequest& request) {
  for (const AskedParameter& asked : request.parameters) set(params, asked);
  if (request.resume != nullptr) require_resumable(*request.resume, params);
  validate(params);
  refuse_idle(params, request, false);
  return params;
}

/// The defaults of an algorithm for the feedback that is asked for.
[[nodiscard]] TrainingParams defaults_of(std::string_view algorithm,
                                         const TrainingRequest& request) {
  TrainingParams params = default_params(algorithm, Feedback::kImplicit);
  for (const AskedParameter& asked : request.parameters) {
    if (asked.name != "feedback") continue;
    set(params, asked);
    params = default_params(algorithm, feedback_of(params));
  }
  return params;
}

/// Of "auto": only what all algorithms have can be asked for.
void require_common(const TrainingRequest& request) {
  const std::vector<ParameterInfo> common = common_parameters();
  for (const AskedParameter& asked : request.parameters) {
    if (has_parameter(common, asked.name)) continue;
    const std::vector<std::string_view> owners = algorithms_with(asked.name);
    if (owners.empty()) refuse(fmt::format("there is no parameter {}", printable(asked.name)));
    std::vector<std::string> names;
    std::ranges::transform(common, std::back_inserter(names),
                           [](const ParameterInfo& one) { return mention(one.name); });
    refuse(fmt::format(
        "{} is for {}: beside {}, which may choose another, only {} can be given; "
        "name the algorithm, or leave {} out",
        mention(asked.name), mention("algorithm", fmt::format("{}", fmt::join(owners, " or "))),
        mention("algorithm", kAutoAlgorithm), fmt::join(names, ", "), mention(asked.name)));
  }
}

/// What the device has to do beside the training.
[[nodiscard]] std::vector<Job> jobs_beside(const TrainingRequest& request,
                                           const TrainingParams& params) {
  std::vector<Job> jobs;
  if (request.validation) {
    Model model;
    model.params = params;
    EvaluateOptions options;
    if (!request.validation->metric.empty()) {
      options.metrics = {parse_metric(request.validation->metric).name};
    }
    const CsrView some;
    if (request.validation->has_candidates) options.candidates = &some;
    options.negatives = request.validation->negatives;
    jobs = evaluation_jobs(model, options);
  }
  const Job lists = lists_job(params);
  if (request.has_lists && std::ranges::find(jobs, lists) == jobs.end()) jobs.push_back(lists);
  return jobs;
}

/// Nothing where the data decide.
[[nodiscard]] std::optional<DeviceChoice> open(const TrainingRequest& request,
                                               const TrainingParams& params) {
  const std::vector<Job> also = jobs_beside(request, params);
  if (request.open_device) {
    require_to_train(*request.open_device, params);
    for (const Job job : also) request.open_device->require(job);
    return DeviceChoice{*request.open_device};
  }
  if (can_wait_for_data(request.device, params, request.device_options)) return std::nullopt;
  return open_device_to_train(request.device, params, request.device_options, also);
}

[[nodiscard]] std::vector<std::string> names_of(const TrainingRequest& request) {
  std::vector<std::string> names;
  std::ranges::transform(request.parameters, std::back_inserter(names), &AskedParameter::name);
  return names;
}

/// The parameters, with what the data decide of them.
[[nodiscard]] TrainingParams resolved(const TrainingRequest& request, TrainingParams params,
                                      const CsrView& by_user) {
  if (request.resume != nullptr) return params;
  return with_data_defaults(by_user, std::move(params), names_of(request));
}

/// What "auto" chooses for parameters that are resolved.
[[nodiscard]] DeviceChoice device_for(const TrainingRequest& request, const TrainingParams& params,
                                      const CsrView& by_user) {
  return choose_by_data(by_user, params, request.device_options, jobs_beside(request, params));
}

[[nodiscard]] std::vector<ParameterOrigin> origins_of(const TrainingParams& params,
                                                      const TrainingRequest& request) {
  const std::string_view algorithm = algorithm_name(params);
  const TrainingParams usual = default_params(algorithm, feedback_of(params));
  const TrainingParams plain = default_params(algorithm, Feedback::kImplicit);
  const std::vector<std::string> given = names_of(request);
  const auto follows_data = [&](const std::string& name) {
    return request.resume == nullptr && std::ranges::find(given, name) == given.end() &&
           algorithm_of(params)->follows_data(name, GivenNames(given));
  };
  std::vector<ParameterOrigin> origins;
  for (const ParameterInfo& parameter : parameters_of(algorithm)) {
    if (!parameter_needs(params, parameter.name).empty()) continue;
    const auto asked = std::ranges::find(request.parameters, parameter.name, &AskedParameter::name);
    const bool is_chosen = asked != request.parameters.end() && asked->chosen;
    // Some front doors always say what the feedback is: it is chosen where it is not the default.
    const bool is_feedback = parameter.name == "feedback";
    const bool is_usual = parameter_text(params, parameter.name) ==
                              parameter_text(is_feedback ? plain : usual, parameter.name) &&
                          !follows_data(std::string(parameter.name));
    if (is_usual && (is_feedback || !is_chosen)) continue;
    const Origin origin = is_chosen                   ? Origin::kChosen
                          : request.resume != nullptr ? Origin::kResumed
                                                      : Origin::kData;
    origins.push_back({std::string(parameter.name), origin});
  }
  return origins;
}

[[nodiscard]] std::string device_line(const DeviceChoice& device) {
  return fmt::format("{}{}{}", device_text(device.device), device.reason.empty() ? "" : "; ",
                     device.reason);
}

}  // namespace

TrainingRequest request_of(const TrainingParams& params) {
  TrainingRequest request;
  request.algorithm = algorithm_name(params);
  const TrainingParams plain = default_params(request.algorithm, Feedback::kImplicit);
  const TrainingParams usual = default_params(request.algorithm, feedback_of(params));
  for (const ParameterInfo& one : parameters_of(request.algorithm)) {
    std::string text = parameter_text(params, one.name);
    const TrainingParams& beside = one.name == "feedback" ? plain : usual;
    if (text == parameter_text(beside, one.name)) continue;
    request.parameters.push_back({std::string(one.name), std::move(text)});
  }
  return request;
}

TrainingParams asked_params(const TrainingRequest& request) {
  if (request.resume != nullptr) {
    const std::string_view begun = request.resume->algorithm();
    if (!request.algorithm.empty() && request.algorithm != begun) {
      refuse(fmt::format("{}: the model to resume is of {}; leave the option out",
                         mention("algorithm", request.algorithm), begun));
    }
    return with_asked(request.resume->params, request);
  }
  if (is_auto(request)) {
    require_common(request);
    return defaults_of("als", request);
  }
  return with_asked(defaults_of(named_algorithm(request), request), request);
}

TrainingOutline outline(const TrainingRequest& request) {
  TrainingParams params = asked_params(request);
  const auto& validation = request.validation;
  if (validation && validation->target && !validation->metric.empty()) {
    require_target_of_metric(*validation->target, validation->metric);
  }
  std::optional<DeviceChoice> device = open(request, params);
  return {std::move(params), std::move(device)};
}

TrainingOutline with_device(const TrainingRequest& request, TrainingOutline outline,
                            const CsrView& by_user) {
  if (!outline.device) {
    outline.device = device_for(request, resolved(request, outline.params, by_user), by_user);
  }
  return outline;
}

TrainingPlan prepare(const TrainingRequest& request, const Interactions& data) {
  if (data.by_user.nnz() == 0) {
    throw Error(ErrorKind::kBadData, "there are no interactions: nothing to learn from");
  }
  return prepare(request, outline(request), data);
}

TrainingPlan prepare(const TrainingRequest& request, TrainingOutline outline,
                     const Interactions& data) {
  require_no_half_life(data, feedback_of(outline.params));
  const CsrView by_user = data.by_user.view();
  AlgorithmChoice choice;
  TrainingRequest asked = request;
  if (is_auto(request) && request.resume == nullptr) {
    const Feedback feedback = feedback_of(outline.params);
    outline = with_device(request, std::move(outline), by_user);
    choice = choose_measured(data, feedback, outline.device->device);
    asked.algorithm = choice.algorithm;
    outline.params = asked_params(asked);
    outline.device = open(asked, outline.params);
  }
  TrainingParams params = resolved(asked, std::move(outline.params), by_user);
  refuse_idle(params, request, true);
  // What auto chose was not asked for: a note tells of it.
  if (choice.algorithm.empty()) require_fading_read(data, params);
  DeviceChoice device =
      outline.device ? *std::move(outline.device) : device_for(asked, params, by_user);
  TrainingPlan plan{algorithm_of(params)->with_usual_values(), std::move(choice.reason),
                    std::move(device)};
  plan.resume = request.resume;
  plan.validation = request.validation;
  const std::unique_ptr<const Algorithm> algorithm = algorithm_of(plan.params);
  // A target says itself what it is of.
  if (plan.validation && plan.validation->metric.empty() && !plan.validation->target) {
    plan.validation->metric = default_metric(algorithm->predicts_ratings());
  }
  plan.origins = origins_of(params, request);
  plan.notes = notes_on(data, plan.params);
  plan.remarks = remarks_on(data, plan.params);
  plan.tuning = algorithm->tuning(plan.device.device, by_user);
  plan.memory = algorithm->memory(plan.device.device, by_user);
  return plan;
}

std::string describe(const TrainingPlan& plan) {
  std::string text = fmt::format("algorithm: {}", algorithm_name(plan.params));
  if (!plan.algorithm_reason.empty()) text += fmt::format("; {}", plan.algorithm_reason);
  text += fmt::format("\ndevice: {}", device_line(plan.device));
  text += "\nparameters:";
  for (const ParameterInfo& parameter : parameters_of(algorithm_name(plan.params))) {
    const std::string value = parameter_text(plan.params, parameter.name);
    if (parameter.is_absent(value) || !parameter_needs(plan.params, parameter.name).empty())
      continue;
    const auto origin = std::ranges::find(plan.origins, parameter.name, &ParameterOrigin::name);
    text += fmt::format("\n  {} {} ({})", parameter.word(), value,
                        origin == plan.origins.end()
                            ? "default"
                            : kOriginNames[static_cast<std::size_t>(origin->origin)]);
  }
  for (const auto* told : {&plan.notes, &plan.remarks}) {
    for (const std::string& note : *told) text += fmt::format("\nnote: {}", note);
  }
  if (plan.validation) text += fmt::format("\nvalidation: {}", plan.validation->metric);
  if (!plan.tuning.empty()) text += fmt::format("\ntuning: {}", plan.tuning);
  if (!plan.memory.parts.empty()) {
    text += fmt::format("\nmemory: {}\n{}", plan.memory.placement, describe(plan.memory));
  }
  return text;
}

}  // namespace likewise
