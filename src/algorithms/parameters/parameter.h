// SPDX-License-Identifier: Apache-2.0
/// How parameters are described. Texts name other parameters in braces, "{solver cg}", as
/// mentions() reads them. A struct of parameters lists its fields once, as
/// Description<Params>::kAll, and validation, model files and front doors visit the list.
#pragma once

#include <cmath>
#include <limits>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>

#include "likewise/types.h"

namespace likewise {

/// The names of an enum's values, in its order.
template <class Enum>
struct EnumNames;
template <>
struct EnumNames<Feedback> {
  static constexpr std::span<const std::string_view> kAll = kFeedbackNames;
};
template <>
struct EnumNames<Side> {
  static constexpr std::string_view kNames[] = {"user", "item"};
  static constexpr std::span<const std::string_view> kAll = kNames;
};

/// The number in an optional one.
template <class T>
struct Plain {
  using Type = T;
};
template <class T>
struct Plain<std::optional<T>> {
  using Type = T;
};

/// Numbers that a search for good parameters tries, in equal steps or by equal factors.
struct SearchRange {
  double low = 0.0;
  double high = 0.0;
  bool log = false;
};
[[nodiscard]] constexpr SearchRange linear_range(double low, double high) {
  return {low, high, false};
}
[[nodiscard]] constexpr SearchRange log_range(double low, double high) { return {low, high, true}; }
/// How much more a row of 100 entries is pulled by an exponent that is so much larger.
[[nodiscard]] inline double power_of_100(double exponent) { return std::pow(100.0, exponent); }

/// Of "feedback", for all algorithms: --help shows it once.
inline constexpr std::string_view kFeedbackMeaning =
    "implicit: values are counts or strengths; explicit: values are ratings to predict";

template <class Params, class FieldType>
struct Parameter {
  using Field = FieldType;
  using Value = typename Plain<Field>::Type;

  std::string_view name;
  Field Params::*member;
  std::string_view help;

  /// Numbers: the values allowed, and the same in words.
  Value lowest{};
  Value highest{};
  std::string_view range{};
  /// The default in words, where it depends on something.
  std::string_view usual{};
  /// Where front doors call it otherwise; switches: the names of false and true.
  std::string_view option{};
  std::string_view off = "off";
  std::string_view on = "on";
  /// Whether the value has an effect beside the others, and what it needs if not.
  bool (*applies)(const Params&) = nullptr;
  std::string_view needs{};
  /// The effect depends on values that with_data_defaults() may choose.
  bool applies_by_data = false;
  /// What a search for good parameters tries beside the values of the others: a range of numbers,
  /// which may lie about the defaults for the data, the second argument; or some of the choices.
  /// Where there is none, or an empty one, it leaves the parameter alone.
  std::optional<SearchRange> (*range_searched)(const Params&, const Params&) = nullptr;
  std::span<const Value> (*choices_searched)(const Params&) = nullptr;
  /// Models go on with the value they were begun with.
  bool fixed = false;
  /// Users do not choose it by itself.
  bool hidden = false;
  /// Whether it was given decides: with_data_defaults() chooses what was not.
  bool open = false;

  constexpr Parameter(std::string_view the_name, Field Params::*field, std::string_view text)
      : name(the_name), member(field), help(text) {}

  [[nodiscard]] constexpr Parameter between(Value low, Value high, std::string_view words) const {
    Parameter changed = *this;
    changed.lowest = low;
    changed.highest = high;
    changed.range = words;
    return changed;
  }
  [[nodiscard]] constexpr Parameter positive() const {
    return between(1e-15, 1e15, "in [1e-15, 1e15]");  // float32 computes with these
  }
  [[nodiscard]] constexpr Parameter not_negative() const {
    return between(0, 1e15, "in [0, 1e15]");
  }
  [[nodiscard]] constexpr Parameter share() const { return between(0, 1, "in [0, 1]"); }
  [[nodiscard]] constexpr Parameter by_default(std::string_view words) const {
    Parameter changed = *this;
    changed.usual = words;
    return changed;
  }
  [[nodiscard]] constexpr Parameter called(std::string_view other, std::string_view when_false,
                                           std::string_view when_true) const {
    Parameter changed = *this;
    changed.option = other;
    changed.off = when_false;
    changed.on = when_true;
    return changed;
  }
  [[nodiscard]] constexpr Parameter only_if(bool (*has_effect)(const Params&),
                                            std::string_view words) const {
    Parameter changed = *this;
    changed.applies = has_effect;
    changed.needs = words;
    return changed;
  }
  /// As only_if(), where values that the data decide have a say.
  [[nodiscard]] constexpr Parameter only_if_by_data(bool (*has_effect)(const Params&),
                                                    std::string_view words) const {
    Parameter changed = only_if(has_effect, words);
    changed.applies_by_data = true;
    return changed;
  }
  [[nodiscard]] constexpr Parameter searched(
      std::optional<SearchRange> (*range_beside)(const Params&, const Params&)) const {
    Parameter changed = *this;
    changed.range_searched = range_beside;
    return changed;
  }
  [[nodiscard]] constexpr Parameter searched_among(
      std::span<const Value> (*choices_beside)(const Params&)) const {
    Parameter changed = *this;
    changed.choices_searched = choices_beside;
    return changed;
  }
  [[nodiscard]] constexpr Parameter kept_by_resume() const {
    Parameter changed = *this;
    changed.fixed = true;
    return changed;
  }
  [[nodiscard]] constexpr Parameter left_open(std::string_view usual_words) const {
    Parameter changed = by_default(usual_words);
    changed.open = true;
    return changed;
  }
  [[nodiscard]] constexpr Parameter not_an_option() const {
    Parameter changed = *this;
    changed.hidden = true;
    return changed;
  }
};

/// Specialised beside each struct of parameters (als.h, neighbours.h, popular.h here).
template <class Params>
struct Description;

/// Whether these are all the fields of a struct, in its order: it can be made of so many values,
/// and of no more.
template <class Params, class... Fields>
constexpr bool describes_all(const std::tuple<Parameter<Params, Fields>...>&) {
  return requires { Params{std::declval<Fields>()...}; }
  &&!requires { Params{std::declval<Fields>()..., {}}; };
}

/// Calls visit(parameter) for every parameter, in order.
template <class Params, class Visitor>
void for_each_parameter(const Visitor& visit) {
  static_assert(describes_all(Description<Params>::kAll),
                "a field has no Parameter, or another place than in the struct");
  std::apply([&](const auto&... parameter) { (visit(parameter), ...); }, Description<Params>::kAll);
}

}  // namespace likewise
