// SPDX-License-Identifier: Apache-2.0
#include "likewise/parameters.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <optional>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "algorithms/als/suited.h"
#include "algorithms/neighbours/suited.h"
#include "likewise/error.h"
#include "params/descriptions.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& why) { throw Error(ErrorKind::kInvalidArgument, why); }

template <class Params>
[[nodiscard]] TrainingParams defaults(Feedback feedback) {
  if constexpr (requires { Params::defaults(feedback); }) {
    return Params::defaults(feedback);
  } else {
    return Params{feedback};
  }
}
template <Side kSide>
[[nodiscard]] TrainingParams neighbour_defaults(Feedback feedback) {
  return NeighbourParams::defaults(feedback, kSide);
}

struct Algorithm {
  std::string_view name;
  std::string_view help;
  TrainingParams (*defaults)(Feedback);
  std::size_t alternative;  ///< of TrainingParams
};
template <class Params>
constexpr Algorithm algorithm(std::string_view name, std::string_view help,
                              TrainingParams (*values)(Feedback) = defaults<Params>) {
  return {name, help, values, TrainingParams(Params{}).index()};
}
constexpr Algorithm kAlgorithms[] = {
    algorithm<AlsParams>("als", "matrix factorisation"),
    algorithm<NeighbourParams>("item-knn", "nearest items", neighbour_defaults<Side::kItems>),
    algorithm<NeighbourParams>("user-knn", "nearest users", neighbour_defaults<Side::kUsers>),
    algorithm<PopularParams>("popular", "the popularity baseline"),
    algorithm<BiasParams>("bias", "the baseline of ratings"),
    algorithm<SgdParams>("sgd", "ratings, by stochastic gradient descent"),
    algorithm<BprParams>("bpr", "rankings, by stochastic gradient descent")};

constexpr bool all_have_rows() {
  for (std::size_t one = 0; one < std::variant_size_v<TrainingParams>; ++one) {
    if (std::ranges::find(kAlgorithms, one, &Algorithm::alternative) == std::end(kAlgorithms)) {
      return false;
    }
  }
  return true;
}
static_assert(all_have_rows(), "an alternative of TrainingParams is no row of kAlgorithms");

constexpr auto kNames = [] {
  std::array<std::string_view, std::size(kAlgorithms)> names;
  std::ranges::transform(kAlgorithms, names.begin(), &Algorithm::name);
  return names;
}();

[[nodiscard]] const Algorithm& row_of(std::string_view algorithm) {
  const auto* found = std::ranges::find(kAlgorithms, algorithm, &Algorithm::name);
  if (found == std::end(kAlgorithms)) {
    refuse(fmt::format("there is no algorithm '{}'; there are {}", algorithm,
                       fmt::join(kNames, ", ")));
  }
  return *found;
}

std::string_view name_of(const AlsParams&) { return "als"; }
std::string_view name_of(const NeighbourParams& params) {
  return params.side == Side::kItems ? "item-knn" : "user-knn";
}
std::string_view name_of(const PopularParams&) { return "popular"; }
std::string_view name_of(const SgdParams&) { return "sgd"; }
std::string_view name_of(const BprParams&) { return "bpr"; }
std::string_view name_of(const BiasParams&) { return "bias"; }

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
[[nodiscard]] std::string usual_text(const Described& parameter,
                                     TrainingParams (*defaults_at)(Feedback)) {
  if (!parameter.usual.empty()) return mentions(parameter.usual);
  const auto at = [&](Feedback feedback) {
    return text_of(parameter, std::get<Params>(defaults_at(feedback)).*parameter.member);
  };
  const std::string implicit = at(Feedback::kImplicit);
  const std::string explicit_one = at(Feedback::kExplicit);
  if (parameter.name == "feedback" || implicit == explicit_one) {
    return implicit == "none" ? std::string() : implicit;
  }
  return fmt::format("{} implicit, {} explicit", implicit, explicit_one);
}

template <class Described, class Number>
void parse(const Described& parameter, std::string_view text, Number& field) {
  Number value{};
  const auto [end, fault] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = end == text.data() + text.size();
  if (fault == std::errc::result_out_of_range && whole) {
    refuse(fmt::format("{} must be from {} to {}, not '{}'", parameter.name, parameter.lowest,
                       parameter.highest, text));
  }
  if (fault != std::errc{} || !whole) {
    refuse(fmt::format("{} must be {}, not '{}'", parameter.name, parameter.range, text));
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
    refuse(fmt::format("{} must be one of {}, not '{}'", parameter.name, fmt::join(choices, "|"),
                       text));
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

std::string_view algorithm_name(const TrainingParams& params) {
  return std::visit([](const auto& some) { return name_of(some); }, params);
}

std::span<const std::string_view> algorithm_names() { return kNames; }

std::string_view algorithm_help(std::string_view algorithm) { return row_of(algorithm).help; }

TrainingParams default_params(std::string_view algorithm, Feedback feedback) {
  return row_of(algorithm).defaults(feedback);
}

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
                         usual_text<Params>(parameter, row_of(algorithm).defaults),
                         parameter.open});
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

TrainingParams suited_to(const CsrView& by_user, TrainingParams params,
                         std::span<const std::string> given) {
  const auto names = [&](std::string_view name) {
    return std::ranges::find(given, name) != given.end();
  };
  if (auto* const als = std::get_if<AlsParams>(&params)) {
    return suited(by_user, *als,
                  {names("factors"), names("regularization"), names("regularization_exponent"),
                   names("unobserved_weight"), names("alpha") || names("confidence")});
  }
  if (const auto* const neighbours = std::get_if<NeighbourParams>(&params)) {
    return suited(by_user, *neighbours,
                  {names("neighbours"), names("similarity"), names("shrinkage"), names("sum_lists"),
                   names("sum_scale")});
  }
  return params;
}

bool fixed_by_resume(const TrainingParams& params, std::string_view name) {
  bool fixed = false;
  visit_named(params, name, [&](const auto&, const auto& parameter) { fixed = parameter.fixed; });
  return fixed;
}

}  // namespace likewise
