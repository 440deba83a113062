// SPDX-License-Identifier: Apache-2.0
#include "data/text/numbers.h"

#include <cmath>

#include <fast_float/fast_float.h>

namespace likewise {
namespace {

/// Whether a number of this text is 0, and not one that became 0.
bool is_written_zero(std::string_view text) {
  return text.substr(0, text.find_first_of("eE")).find_first_of("123456789") ==
         std::string_view::npos;
}

/// Infinite, or 0, where it is beyond a Number.
template <class Number>
std::optional<Number> read_float(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
    if (text.starts_with('-')) return std::nullopt;  // "+-1": which of the two is meant?
  }
  Number value = 0;
  const char* end = text.data() + text.size();
  const auto [rest, error] = fast_float::from_chars(text.data(), end, value);
  if (error == std::errc::invalid_argument || rest != end) return std::nullopt;
  return value;
}

template <class Number>
std::optional<Number> parse_float(std::string_view text) {
  const auto value = read_float<Number>(text);
  if (!value || !std::isfinite(*value) || (*value == 0 && !is_written_zero(text))) {
    return std::nullopt;
  }
  return value;
}

}  // namespace

bool fits_value(double number) {
  const auto value = static_cast<float>(number);
  return std::isfinite(value) && (value != 0.0F || number == 0.0);
}

std::optional<float> parse_value(std::string_view text) { return parse_float<float>(text); }

std::optional<double> parse_double(std::string_view text) { return parse_float<double>(text); }

bool has_form_of_number(std::string_view text) {
  const bool digits = text.find_first_of("0123456789") != std::string_view::npos;  // not "inf"
  return digits && read_float<double>(text).has_value();
}

bool are_digits(std::string_view text) {
  return !text.empty() && text.find_first_not_of("0123456789") == std::string_view::npos;
}

}  // namespace likewise
