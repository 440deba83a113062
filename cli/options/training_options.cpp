// SPDX-License-Identifier: Apache-2.0
#include "options/training_options.h"

#include <algorithm>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "likewise/choose.h"
#include "options/options.h"

namespace likewise::cli {
namespace {

/// More choices than this go into the description, which is cut into lines.
constexpr std::size_t kShownChoices = 6;

/// The algorithms that have a parameter of this name.
[[nodiscard]] std::vector<std::string_view> owners(std::string_view name) {
  std::vector<std::string_view> result;
  for (const std::string_view algorithm : algorithm_names()) {
    const std::vector<ParameterInfo> all = parameters_of(algorithm);
    if (std::ranges::find(all, name, &ParameterInfo::name) != all.end()) {
      result.push_back(algorithm);
    }
  }
  return result;
}

/// The default, and where algorithms have others, those too: "15; sgd: 30".
[[nodiscard]] std::string usual_of(const ParameterInfo& parameter) {
  std::string text = parameter.usual;
  for (const std::string_view owner : owners(parameter.name)) {
    const std::vector<ParameterInfo> all = parameters_of(owner);
    const std::string& own = std::ranges::find(all, parameter.name, &ParameterInfo::name)->usual;
    if (own != parameter.usual) text += fmt::format("; {}: {}", owner, own);
  }
  return text;
}

/// A usage error for what set_parameter() would refuse.
void check_text(const ParameterInfo& parameter, const std::string& text) {
  TrainingParams scratch = default_params(owners(parameter.name).front(), Feedback::kImplicit);
  try {
    set_parameter(scratch, parameter.name, text);
  } catch (const Error& error) {
    throw CLI::ValidationError(parameter.option, error.what());
  }
  std::string fault;
  if (parameter.kind == ParameterKind::kInteger) fault = whole_number_fault(text);
  if (parameter.kind == ParameterKind::kReal) fault = real_number_fault(text);
  if (!fault.empty()) throw CLI::ValidationError(parameter.option, fault);
}

}  // namespace

std::string options_text(const TrainingParams& params) {
  const std::string_view algorithm = algorithm_name(params);
  std::string text = fmt::format("--algorithm {}", algorithm);
  const TrainingParams plain = default_params(algorithm, Feedback::kImplicit);
  const TrainingParams usual = default_params(algorithm, feedback_of(params));
  for (const ParameterInfo& one : parameters_of(algorithm)) {
    const std::string value = parameter_text(params, one.name);
    // What is left open depends on the data.
    const bool is_usual =
        !one.left_open && value == parameter_text(one.name == "feedback" ? plain : usual, one.name);
    const bool is_absent = value == "none";
    if (is_usual || is_absent || !parameter_needs(params, one.name).empty()) continue;
    text += fmt::format(" {} {}", one.option, value);
  }
  return text;
}

void TrainingOptions::add(CLI::App& app) {
  Choices<std::string> algorithms;
  std::vector<std::string_view> helps;
  for (const std::string_view name : algorithm_names()) {
    algorithms.emplace_back(name, name);
    helps.push_back(algorithm_help(name));
  }
  algorithms.emplace_back(kAuto, kAuto);
  helps.emplace_back("what suits the data");
  const std::function<void(std::string)> choose = [this](std::string name) {
    algorithm_ = std::move(name);
    algorithm_given_ = true;
  };
  add_choice<std::string>(app, "--algorithm", algorithms, choose,
                          fmt::format("What it learns: {}", fmt::join(helps, ", ")))
      ->default_str(algorithm_);
  for (const std::string_view algorithm : algorithm_names()) {
    for (const ParameterInfo& parameter : parameters_of(algorithm)) {
      const std::vector<std::string_view> all = owners(parameter.name);
      if (all.front() != algorithm) continue;  // declared with the first that has it
      const bool usual = algorithm == algorithm_;
      add(app, parameter,
          usual ? "OPTIONS" : fmt::format("For --algorithm {}", fmt::join(all, ", ")));
    }
  }
}

void TrainingOptions::add(CLI::App& app, const ParameterInfo& parameter, const std::string& group) {
  const std::function<void(std::string)> keep = [this, parameter](const std::string& text) {
    check_text(parameter, text);
    given_.push_back({std::string(parameter.name), parameter.option, text});
  };
  std::string help(parameter.help);
  CLI::Option* option = nullptr;
  if (parameter.choices.empty()) {
    option = app.add_option_function<std::string>(parameter.option, keep, help)
                 ->type_name(parameter.kind == ParameterKind::kInteger ? "N" : "X");
  } else {
    const bool many = parameter.choices.size() > kShownChoices;
    if (many) help += fmt::format(": {}", fmt::join(parameter.choices, ", "));
    Choices<std::string> choices;
    for (const std::string& name : parameter.choices) choices.emplace_back(name, name);
    option = add_choice<std::string>(app, parameter.option, choices, keep, help);
    if (many) option->type_name("NAME");
  }
  option->default_str(usual_of(parameter))->group(group);
}

TrainingParams TrainingOptions::applied(TrainingParams to) const {
  for (const Given& one : given_) {
    const std::vector<std::string_view> all = owners(one.name);
    if (std::ranges::find(all, algorithm_name(to)) == all.end()) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} is for --algorithm {}, not {}", one.option,
                              fmt::join(all, " or "), algorithm_name(to)));
    }
    set_parameter(to, one.name, one.text);
  }
  validate(to);
  for (const Given& one : given_) {
    const std::string needs = parameter_needs(to, one.name);
    if (needs.empty()) continue;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("{} would do nothing here: it needs {}", one.option, needs));
  }
  return to;
}

Feedback TrainingOptions::feedback_for_auto() const {
  const std::vector<ParameterInfo> common = common_parameters();
  TrainingParams some = default_params("als", Feedback::kImplicit);
  for (const Given& one : given_) {
    if (std::ranges::find(common, one.name, &ParameterInfo::name) == common.end()) {
      std::vector<std::string> options;
      std::ranges::transform(common, std::back_inserter(options), &ParameterInfo::option);
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("{} is for --algorithm {}: beside --algorithm auto, which may choose "
                              "another, only {} can be given; name the algorithm, or leave {} out",
                              one.option, fmt::join(owners(one.name), " or "),
                              fmt::join(options, ", "), one.option));
    }
    set_parameter(some, one.name, one.text);
  }
  return feedback_of(some);
}

TrainingOptions TrainingOptions::chosen(std::string_view algorithm) const {
  TrainingOptions options = *this;
  options.algorithm_ = algorithm;
  return options;
}

TrainingParams TrainingOptions::params() const {
  TrainingParams to = default_params(algorithm_, Feedback::kImplicit);
  for (const Given& one : given_) {
    if (one.name != "feedback") continue;
    set_parameter(to, one.name, one.text);
    to = default_params(algorithm_, feedback_of(to));
  }
  return applied(std::move(to));
}

TrainingParams TrainingOptions::suited(const CsrView& by_user) const {
  std::vector<std::string> names;
  std::ranges::transform(given_, std::back_inserter(names), &Given::name);
  return suited_to(by_user, params(), names);
}

TrainingParams TrainingOptions::resumed(const TrainingParams& earlier) const {
  if (algorithm_given_ && algorithm_ != algorithm_name(earlier)) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--algorithm {}: the model to resume is of {}; leave the option out",
                            algorithm_, algorithm_name(earlier)));
  }
  return applied(earlier);
}

}  // namespace likewise::cli
