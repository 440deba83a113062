// SPDX-License-Identifier: Apache-2.0
#include "options/number_checks.h"

#include <charconv>
#include <string_view>

#include <fmt/format.h>

#include "output/text.h"

namespace likewise::cli {
namespace {

/// Whether all of the text is a number of this type.
template <class Number>
[[nodiscard]] bool is_number(std::string_view text, Number& number) {
  const auto [end, failure] = std::from_chars(text.data(), text.data() + text.size(), number);
  return failure == std::errc{} && end == text.data() + text.size();
}

}  // namespace

std::string whole_number_fault(const std::string& text, Bounds<std::uint64_t> bounds) {
  const auto [least, most] = bounds;
  std::uint64_t number = 0;
  const bool leading_zero = text.size() > 1 && text.front() == '0';
  if (is_number(text, number) && !leading_zero && number >= least && number <= most) return {};
  return fmt::format("'{}' is not a whole number from {} to {}", printable(text), least, most);
}

std::string real_number_fault(const std::string& text, Bounds<double> bounds) {
  const auto [least, most] = bounds;
  double number = 0.0;
  if (is_number(text, number) && number >= least && number <= most) return {};
  const std::string range =
      most == Bounds<double>{}.most ? "" : fmt::format(" from {:g} to {:g}", least, most);
  return fmt::format("'{}' is not a finite number{}", printable(text), range);
}

}  // namespace likewise::cli
