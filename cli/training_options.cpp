// SPDX-License-Identifier: Apache-2.0
#include "training_options.h"

#include <optional>
#include <type_traits>

#include <fmt/format.h>

#include "options.h"

namespace likewise::cli {
namespace {

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<T>> : std::true_type {};

/// "0.01", or "0.01 implicit, 0.05 explicit" where the two kinds of feedback differ.
template <class Field>
std::string default_text(Field AlsParams::*field) {
  const auto implicit = AlsParams::defaults(Feedback::kImplicit).*field;
  const auto explicit_one = AlsParams::defaults(Feedback::kExplicit).*field;
  if constexpr (IsOptional<Field>::value) {
    return implicit ? fmt::format("{}", *implicit) : std::string();
  } else {
    if (implicit == explicit_one) return fmt::format("{}", implicit);
    return fmt::format("{} implicit, {} explicit", implicit, explicit_one);
  }
}

}  // namespace

template <class T, class Field>
CLI::Option* TrainingOptions::number(CLI::App& app, const std::string& flag,
                                     Field AlsParams::*field, const std::string& text) {
  const auto keep = [this, field](const T& value) {
    changes_.push_back([field, value](AlsParams& params) { params.*field = value; });
  };
  return app.add_option_function<T>(flag, keep, text)
      ->type_name(std::is_integral_v<T> ? "N" : "X")
      ->default_str(default_text(field));
}

template <class T>
CLI::Option* TrainingOptions::choice(CLI::App& app, const std::string& flag,
                                     const std::vector<std::pair<std::string, T>>& choices,
                                     T AlsParams::*field, const std::string& text) {
  const std::function<void(T)> keep = [this, field](T value) {
    changes_.push_back([field, value](AlsParams& params) { params.*field = value; });
  };
  CLI::Option* option = add_choice<T>(app, flag, choices, keep, text);
  for (const auto& [name, value] : choices) {
    if (value == AlsParams{}.*field) option->default_str(name);
  }
  return option;
}

void TrainingOptions::add(CLI::App& app) {
  add_choice<Feedback>(app, "--feedback", choices_of<Feedback>(kFeedbackNames), feedback_,
                       "implicit: values are counts or strengths, what is missing is a weak no; "
                       "explicit: values are ratings to predict");
  number<int>(app, "--factors", &AlsParams::factors, "Numbers learnt per user and per item");
  number<int>(app, "--iterations", &AlsParams::iterations, "Passes over both sides");
  number<double>(app, "--regularization", &AlsParams::regularization, "lambda: pulls factors to 0");
  number<double>(app, "--regularization-exponent", &AlsParams::regularization_exponent,
                 "nu: 0 is plain lambda, 1 weighs it by how much a row has");
  number<double>(app, "--alpha", &AlsParams::alpha, "Implicit: confidence per unit of value");
  choice<Confidence>(app, "--confidence", choices_of<Confidence>(kConfidenceNames),
                     &AlsParams::confidence, "Implicit: how a value becomes confidence");
  number<double>(app, "--epsilon", &AlsParams::epsilon, "Scale of --confidence log");
  number<double>(app, "--unobserved-weight", &AlsParams::unobserved_weight,
                 "Implicit: w0, weight of what is missing; turns on the iALS form");
  choice<bool>(app, "--biases", {{"on", true}, {"off", false}}, &AlsParams::biases,
               "Explicit: learn the mean and a bias per user and item");
  number<double>(app, "--init-stddev", &AlsParams::init_stddev, "Spread of the first factors");
  choice<AlsSolverKind>(app, "--solver", choices_of<AlsSolverKind>(kAlsSolverNames),
                        &AlsParams::solver, "Exact, or a few conjugate gradient steps per row");
  number<int>(app, "--cg-steps", &AlsParams::cg_steps, "Steps per row of --solver cg");
  number<double>(app, "--cg-tolerance", &AlsParams::cg_tolerance,
                 "A row also stops at this relative residual; 0 is off");
  choice<Precision>(app, "--precision", choices_of<Precision>(kPrecisionNames),
                    &AlsParams::precision, "Storage of factors while training");
  number<double>(app, "--tolerance", &AlsParams::tolerance,
                 "Stop when the objective falls by less than this share; 0 is off");
  number<int>(app, "--patience", &AlsParams::patience,
              "Stop after this many iterations without a better validation; 0 is off");
  number<std::uint64_t>(app, "--seed", &AlsParams::seed, "Same seed, same model");
}

AlsParams TrainingOptions::applied(AlsParams to) const {
  for (const Change& change : changes_) change(to);
  to.validate();
  return to;
}

AlsParams TrainingOptions::params() const { return applied(AlsParams::defaults(feedback_)); }

AlsParams TrainingOptions::resumed(const AlsParams& base) const {
  const AlsParams result = applied(base);
  if (result.factors != base.factors) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("--factors {}: the model to resume has {}; leave the option out",
                            result.factors, base.factors));
  }
  return result;
}

}  // namespace likewise::cli
