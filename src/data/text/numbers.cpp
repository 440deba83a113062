// SPDX-License-Identifier: Apache-2.0
#include "data/text/numbers.h"

#include <cmath>

#include <fast_float/fast_float.h>

namespace likewise {
namespace {

template <class Number>
std::optional<Number> parse_float(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;  // "+-1": which of the two is meant?
  }
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = fast_float::from_chars(text.data(), end, value);
  if (error != std::errc{} || rest != end || !std::isfinite(value)) return std::nullopt;
  return value;
}

}  // namespace

std::optional<float> parse_value(std::string_view text) { return parse_float<float>(text); }

std::optional<double> parse_double(std::string_view text) { return parse_float<double>(text); }

bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace likewise
