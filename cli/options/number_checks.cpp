// SPDX-License-Identifier: Apache-2.0
#include "options/number_checks.h"

#include <charconv>
#include <cmath>
#include <cstdint>
#include <string_view>

#include "output/text.h"

namespace likewise::cli {
namespace {

/// Whether all of the text is a number of this type; "+5" too.
template <class Number>
[[nodiscard]] bool is_number(std::string_view text, Number& number) {
  if (text.starts_with("+") && !text.starts_with("+-")) text.remove_prefix(1);
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string whole_number_fault(const std::string& text) {
  std::uint64_t number = 0;
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (is_number(text, number) && !leading_zero) return {};
  return "'" + printable(text) + "' is not a whole number from 0 to 18446744073709551615";
}

std::string real_number_fault(const std::string& text) {
  double number = 0.0;
  if (is_number(text, number) && std::isfinite(number)) return {};
  return "'" + printable(text) + "' is not a finite number";
}

void check_numbers(CLI::App& app) {
  for (CLI::Option* option : app.get_options()) {
    const std::string type = option->get_type_name();
    if (type == "N") option->check(CLI::Validator(whole_number_fault, ""));
    if (type == "X" || type == "SHARE") option->check(CLI::Validator(real_number_fault, ""));
  }
}

}  // namespace likewise::cli
