// SPDX-License-Identifier: Apache-2.0
#include "likewise/parameters.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/parameters/descriptions.h"
#include "algorithms/parameters/rules.h"
#include "likewise/error.h"
#include "likewise/suggestion.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

template <class Value>
constexpr ParameterKind kind_of() {
  if (std::is_same_v<Value, bool>) return ParameterKind::kSwitch;
  if (std::is_enum_v<Value>) return ParameterKind::kChoice;
  return std::is_integral_v<Value> ? ParameterKind::kInteger : ParameterKind::kReal;
}

/// The names of the values of a choice or switch.
template <class Described>
[[nodiscard]] std::vector<std::string> choices_of(const Described& parameter) {
  using Value = typename Described::Value;
  if constexpr (std::is_same_v<Value, bool>) {
    return {std::string(parameter.on), std::string(parameter.off)};
  } else if constexpr (std::is_enum_v<Value>) {
    return {EnumNames<Value>::kAll.begin(), EnumNames<Value>::kAll.end()};
  }
  return {};
}

template <class Described, class Value>
[[nodiscard]] std::string text_of(const Described& parameter, const Value& value) {
  if constexpr (std::is_same_v<Value, bool>) {
    return std::string(value ? parameter.on : parameter.off);
  } else if constexpr (std::is_enum_v<Value>) {
    return std::string(EnumNames<Value>::kAll[static_cast<std::size_t>(value)]);
  } else if constexpr (std::is_arithmetic_v<Value>) {
    return fmt::format("{}", value);
  } else {
    return value ? fmt::format("{}", *value) : std::string("none");
  }
}

/// "64", or "0.01 implicit, 0.1 explicit" where the two kinds of feedback differ; empty where there
/// is none.
template <class Params, class Described>
[[nodiscard]] std::string usual_text(const Described& parameter, std::string_view algorithm) {
  if (!parameter.usual.empty()) return mentions(parameter.usual);
  const auto at = [&](Feedback feedback) {
    return text_of(parameter,
                   std::get<Params>(default_params(algorithm, feedback)).*parameter.member);
  };
  const std::string implicit = at(Feedback::kImplicit);
  const std::string explicit_one = at(Feedback::kExplicit);
  if (parameter.name == "feedback" || implicit == explicit_one) {
    return implicit == "none" ? std::string() : implicit;
  }
  return fmt::format("{} implicit, {} explicit", implicit, explicit_one);
}

/// What a number may be: "a whole number in [1, 4096]".
template <class Described>
[[nodiscard]] std::string range_text(const Described& parameter) {
  const bool is_whole =
      std::is_integral_v<typename Described::Value> && parameter.range.starts_with("in ");
  return fmt::format("{}{}", is_whole ? "a whole number " : "", parameter.range);
}

template <class Described, class Number>
void parse(const Described& parameter, std::string_view text, Number& field) {
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (fault == std::errc::result_out_of_range && whole) {
    refuse(fmt::format("{} must be from {} to {}, not '{}'", mention(parameter.name),
                       parameter.lowest, parameter.highest, text));
  }
  if (fault != std::errc{} || !whole) {
    refuse(fmt::format("{} must be {}, not '{}'", mention(parameter.name), range_text(parameter),
                       text));
  }
  field = value;
}
template <class Described, class Number>
void parse(const Described& parameter, std::string_view text, std::optional<Number>& field) {
  parse(parameter, text, field.emplace());
}
template <class Described, class Choice>
requires(std::is_enum_v<Choice> ||
         std::is_same_v<Choice, bool>) void parse(const Described& parameter, std::string_view text,
                                                  Choice& field) {
  const std::vector<std::string> choices = choices_of(parameter);
  const auto found = std::ranges::find(choices, text);
  if (found == choices.end()) {
    refuse(fmt::format("{} must be one of {}, not '{}'{}", mention(parameter.name),
                       fmt::join(choices, "|"), text, suggestion(text, choices)));
  }
  if constexpr (std::is_enum_v<Choice>) {
    field = static_cast<Choice>(found - choices.begin());
  } else {
    field = found == choices.begin();
  }
}

template <class Described>
[[nodiscard]] std::string option_of(const Described& parameter) {
  std::string option(parameter.option.empty() ? parameter.name : parameter.option);
  std::ranges::replace(option, '_', '-');
  return "--" + option;
}

/// Calls visit(params, parameter) for the parameter of this name.
template <class Params, class Visitor>
void visit_named(Params& training, std::string_view name, const Visitor& visit) {
  bool found = false;
  std::visit(
      [&]<class Some>(Some& params) {
        for_each_parameter<std::remove_const_t<Some>>([&](const auto& parameter) {
          if (parameter.name != name) return;
          found = true;
          visit(params, parameter);
        });
      },
      training);
  if (!found) refuse(fmt::format("{} has no parameter {}", algorithm_name(training), name));
}

}  // namespace

Feedback feedback_of(const TrainingParams& params) {
  return std::visit([](const auto& some) { return some.feedback; }, params);
}

bool iterates(const TrainingParams& params) {
  return std::visit(
      [](const auto& some) {
        return requires { some.iterations; };
      },
      params);
}

void validate(const TrainingParams& params) {
  std::visit([](const auto& some) { some.validate(); }, params);
}

std::vector<ParameterInfo> parameters_of(std::string_view algorithm) {
  std::vector<ParameterInfo> all;
  const TrainingParams some = default_params(algorithm, Feedback::kImplicit);
  std::visit(
      [&]<class Params>(const Params&) {
        for_each_parameter<Params>([&](const auto& parameter) {
          using Described = std::remove_cvref_t<decltype(parameter)>;
          if (parameter.hidden) return;
          all.push_back({parameter.name, option_of(parameter), mentions(parameter.help),
                         kind_of<typename Described::Value>(), choices_of(parameter),
                         usual_text<Params>(parameter, algorithm), parameter.open,
                         range_text(parameter)});
        });
      },
      some);
  return all;
}

std::vector<SearchedParameter> searched_parameters(const TrainingParams& params,
                                                   const TrainingParams& usual) {
  std::vector<SearchedParameter> all;
  std::visit(
      [&]<class Params>(const Params& some) {
        const auto* const about = std::get_if<Params>(&usual);
        if (about == nullptr) refuse("the usual parameters are of another algorithm");
        for_each_parameter<Params>([&](const auto& parameter) {
          using Value = typename std::remove_cvref_t<decltype(parameter)>::Value;
          SearchedParameter one{parameter.name, option_of(parameter)};
          one.whole = std::is_integral_v<Value>;
          if (parameter.range_searched != nullptr) {
            if (const std::optional<SearchRange> range = parameter.range_searched(some, *about)) {
              one.low = range->low;
              one.high = range->high;
              one.log = range->log;
              all.push_back(std::move(one));
            }
          } else if (parameter.choices_searched != nullptr) {
            for (const Value value : parameter.choices_searched(some)) {
              one.choices.push_back(text_of(parameter, value));
            }
            if (!one.choices.empty()) all.push_back(std::move(one));
          }
        });
      },
      params);
  return all;
}

void set_parameter(TrainingParams& params, std::string_view name, std::string_view text) {
  visit_named(params, name, [&](auto& some, const auto& parameter) {
    parse(parameter, text, some.*parameter.member);
  });
}

std::string ParameterInfo::word() const {
  std::string word = option.substr(option.find_first_not_of('-'));
  std::ranges::replace(word, '-', '_');
  return word;
}

std::vector<std::pair<std::string, std::string>> effective_parameters(
    const TrainingParams& params) {
  std::vector<std::pair<std::string, std::string>> result;
  for (const ParameterInfo& parameter : parameters_of(algorithm_name(params))) {
    std::string value = parameter_text(params, parameter.name);
    if (parameter.is_absent(value) || !parameter_needs(params, parameter.name).empty()) continue;
    result.emplace_back(parameter.name, std::move(value));
  }
  return result;
}

std::string parameter_text(const TrainingParams& params, std::string_view name) {
  std::string text;
  visit_named(params, name, [&](const auto& some, const auto& parameter) {
    text = text_of(parameter, some.*parameter.member);
  });
  return text;
}

std::string parameter_needs(const TrainingParams& params, std::string_view name) {
  std::string needs;
  visit_named(params, name, [&](const auto& some, const auto& parameter) {
    if (parameter.applies != nullptr && !parameter.applies(some)) needs = mentions(parameter.needs);
  });
  return needs;
}

bool needs_data(const TrainingParams& params, std::string_view name) {
  bool needs = false;
  visit_named(params, name,
              [&](const auto&, const auto& parameter) { needs = parameter.applies_by_data; });
  return needs;
}

bool fixed_by_resume(const TrainingParams& params, std::string_view name) {
  bool fixed = false;
  visit_named(params, name, [&](const auto&, const auto& parameter) { fixed = parameter.fixed; });
  return fixed;
}

}  // namespace likewise
