// SPDX-License-Identifier: Apache-2.0
#include "options/number_checks.h"

#include <charconv>
#include <cmath>
#include <string_view>

#include <fmt/format.h>

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

std::string whole_number_fault(const std::string& text, std::uint64_t most) {
  std::uint64_t number = 0;
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (is_number(text, number) && !leading_zero && number <= most) return {};
  return fmt::format("'{}' is not a whole number from 0 to {}", printable(text), most);
}

std::string real_number_fault(const std::string& text, double most) {
  double number = 0.0;
  if (is_number(text, number) && std::abs(number) <= most) return {};
  return fmt::format("'{}' is not a finite number from {:g} to {:g}", printable(text), -most, most);
}

}  // namespace likewise::cli
