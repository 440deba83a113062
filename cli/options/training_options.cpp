// SPDX-License-Identifier: Apache-2.0
#include "options/training_options.h"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <iterator>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "likewise/error.h"
#include "likewise/parameters.h"
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
  return spelled(text, as_option);
}

/// What it is, and where algorithms have other words for it, those too: "..., or with ease: ...".
[[nodiscard]] std::string help_of(const ParameterInfo& parameter) {
  std::string text = parameter.help;
  std::vector<std::pair<std::string, std::vector<std::string_view>>> others;
  for (const std::string_view owner : owners(parameter.name)) {
    const std::vector<ParameterInfo> all = parameters_of(owner);
    const std::string& own = std::ranges::find(all, parameter.name, &ParameterInfo::name)->help;
    if (own == parameter.help) continue;
    const auto told = std::ranges::find(others, own, [](const auto& one) { return one.first; });
    (told != others.end() ? *told : others.emplace_back(own, 0)).second.push_back(owner);
  }
  for (const auto& [own, names] : others)
    text += fmt::format("; {}: {}", fmt::join(names, ", "), own);
  return spelled(text, as_option);
}

/// Whether a number is written as it is read: 010 is not 8, nan no number.
[[nodiscard]] bool is_plain(const ParameterInfo& parameter, const std::string& text) {
  if (parameter.kind == ParameterKind::kInteger) return whole_number_fault(text).empty();
  return parameter.kind != ParameterKind::kReal || real_number_fault(text).empty();
}

/// A usage error for what set_parameter() would refuse.
void check_text(const ParameterInfo& parameter, const std::string& text) {
  TrainingParams scratch = default_params(owners(parameter.name).front(), Feedback::kImplicit);
  try {
    set_parameter(scratch, parameter.name, text);
  } catch (const Error& error) {
    throw CLI::ValidationError(error.message(as_option));
  }
  if (is_plain(parameter, text)) return;
  throw CLI::ValidationError(
      fmt::format("{} must be {}, not '{}'", parameter.option, parameter.range, printable(text)));
}

/// Its option, where an algorithm has such a parameter.
[[nodiscard]] std::string option_of(std::string_view parameter) {
  for (const std::string_view owner : owners(parameter)) {
    const std::vector<ParameterInfo> all = parameters_of(owner);
    return std::ranges::find(all, parameter, &ParameterInfo::name)->option;
  }
  std::string option = (parameter.size() == 1 ? "-" : "--") + std::string(parameter);
  std::ranges::replace(option, '_', '-');
  return option;
}

}  // namespace

std::string as_option(std::string_view parameter, std::string_view value) {
  if (parameter == "read_interactions") return "`likewise train`";
  if (parameter == "load_model") return "`likewise info`";
  if (parameter == "unpack") return fmt::format("unpack it with {}", value);
  return fmt::format("{}{}{}", option_of(parameter), value.empty() ? "" : " ", value);
}

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
    if (is_usual || one.is_absent(value) || !parameter_needs(params, one.name).empty()) continue;
    text += fmt::format(" {} {}", one.option, value);
  }
  return text;
}

void TrainingOptions::add(CLI::App& app) {
  Choices<std::string> algorithms;
  std::vector<std::string> helps;
  for (const std::string_view name : algorithm_names()) {
    algorithms.emplace_back(name, name);
    helps.push_back(fmt::format("{}: {}", name, algorithm_help(name)));
  }
  algorithms.emplace_back(kAutoAlgorithm, kAutoAlgorithm);
  helps.push_back(fmt::format("{}: what suits the data", kAutoAlgorithm));
  const std::function<void(std::string)> choose = [this](std::string name) {
    algorithm_ = std::move(name);
  };
  add_choice<std::string>(app, "--algorithm", algorithms, choose,
                          fmt::format("What it learns. {}", fmt::join(helps, "; ")))
      ->default_str(kDefault);
  for (const std::string_view algorithm : algorithm_names()) {
    for (const ParameterInfo& parameter : parameters_of(algorithm)) {
      const std::vector<std::string_view> all = owners(parameter.name);
      if (all.front() != algorithm) continue;  // declared with the first that has it
      add(app, parameter,
          all.size() == algorithm_names().size()
              ? app.option_defaults()->get_group()
              : fmt::format("For --algorithm {}", fmt::join(all, ", ")));
    }
  }
  const std::function<void(std::int64_t)> take_few = [this](std::int64_t) {
    asked_.push_back({"factors", "64"});
    fast_ = true;
  };
  CLI::Option* factors = app.get_option("--factors");
  app.add_flag_function("--fast", take_few,
                        "As --factors 64: a training of little time and memory where the data "
                        "suggest more factors")
      ->excludes(factors)
      ->group(factors->get_group());
}

void TrainingOptions::add(CLI::App& app, const ParameterInfo& parameter, const std::string& group) {
  const std::function<void(std::string)> keep = [this, parameter](const std::string& text) {
    check_text(parameter, text);
    asked_.push_back({std::string(parameter.name), text});
  };
  std::string help = help_of(parameter);
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

TrainingRequest TrainingOptions::request() const {
  const std::vector<std::string_view> wide = owners("factors");
  const bool has_factors =
      algorithm_.empty() || is_auto() || std::ranges::find(wide, algorithm_) != wide.end();
  if (fast_ && !has_factors) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--fast is --factors 64, which is for --algorithm {}, not {}",
                            fmt::join(wide, " or "), algorithm_));
  }
  if (fast_ && is_auto()) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--fast is --factors 64, which is for --algorithm {}: --algorithm auto "
                            "may choose another; name the algorithm, or leave --fast out",
                            fmt::join(wide, " or ")));
  }
  TrainingRequest request;
  request.algorithm = algorithm_;
  request.parameters = asked_;
  return request;
}

}  // namespace likewise::cli
