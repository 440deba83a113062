// SPDX-License-Identifier: Apache-2.0
/// Numbers on the command line are what they look like: 010 is not 8, -1 no large seed, nan no
/// number, and one that is too large for its option is told the range.
#pragma once

#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <type_traits>

#include <CLI/CLI.hpp>

namespace likewise::cli {

/// The numbers that an option takes: whole ones from 0 on, where nothing else is said.
template <class Number>
struct Bounds {
  Number least = std::is_floating_point_v<Number> ? std::numeric_limits<Number>::lowest() : 0;
  Number most = std::numeric_limits<Number>::max();
};

/// What is wrong with the text of a whole number; empty where nothing is.
[[nodiscard]] std::string whole_number_fault(const std::string& text,
                                             Bounds<std::uint64_t> bounds = {});
/// The same of a decimal number.
[[nodiscard]] std::string real_number_fault(const std::string& text, Bounds<double> bounds = {});

/// The fault of a number that is to become a `Number`.
template <class Number>
[[nodiscard]] std::string number_fault(const std::string& text, Bounds<Number> bounds = {}) {
  if constexpr (std::is_floating_point_v<Number>) {
    return real_number_fault(text, {double{bounds.least}, double{bounds.most}});
  } else {
    return whole_number_fault(
        text, {static_cast<std::uint64_t>(bounds.least), static_cast<std::uint64_t>(bounds.most)});
  }
}

template <class T>
struct NumberOf {
  using Type = T;
};
template <class T>
struct NumberOf<std::optional<T>> {
  using Type = T;
};

/// `--flag N`, or X for a decimal number. Text that is none and numbers that do not fit the
/// variable are usage errors with the range that does.
template <class T>
CLI::Option* add_number(CLI::App& app, const std::string& flag, T& target,
                        const std::string& description,
                        Bounds<typename NumberOf<T>::Type> bounds = {}) {
  using Number = typename NumberOf<T>::Type;
  const auto fault = [bounds](const std::string& text) { return number_fault(text, bounds); };
  return app.add_option(flag, target, description)
      ->type_name(std::is_floating_point_v<Number> ? "X" : "N")
      ->check(CLI::Validator(fault, ""));
}

}  // namespace likewise::cli
