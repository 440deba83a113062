// SPDX-License-Identifier: Apache-2.0
/// Numbers as files write them: an optional sign, digits with or without a point, perhaps an
/// exponent. No hexadecimal digits, no words, no second sign.
#pragma once

#include <optional>
#include <string_view>

namespace likewise {

/// A finite 32-bit number, the whole of `text`.
[[nodiscard]] std::optional<float> parse_value(std::string_view text);
/// The same in 64 bits.
[[nodiscard]] std::optional<double> parse_double(std::string_view text);
/// Digits alone, one at least.
[[nodiscard]] bool are_digits(std::string_view text);

}  // namespace likewise
