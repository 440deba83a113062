// SPDX-License-Identifier: Apache-2.0
/// Numbers as files write them: an optional sign, digits with or without a point, perhaps an
/// exponent. No hexadecimal digits, no words, no second sign.
#pragma once

#include <optional>
#include <string_view>

namespace likewise {

/// Whether 32 bits hold `number`: neither infinite nor 0 there, unless it is 0.
[[nodiscard]] bool fits_value(double number);

/// The sizes that fit, for messages.
inline constexpr std::string_view kValueSizes = "0, or from 1.4e-45 to 3.4e38 in size";

/// A 32-bit number, the whole of `text`. One that does not fit is none.
[[nodiscard]] std::optional<float> parse_value(std::string_view text);
/// The same in 64 bits.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
/// A number as it is written, also one that 64 bits do not hold.
[[nodiscard]] bool has_form_of_number(std::string_view text);
/// Digits alone, one at least.
[[nodiscard]] bool are_digits(std::string_view text);

}  // namespace likewise
