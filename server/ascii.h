// SPDX-License-Identifier: Apache-2.0
/// Names whose letters have no case: those of hosts, media types and schemes. ASCII alone.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace likewise::server {

[[nodiscard]] constexpr char small_letter(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(), small_letter);
  return small;
}

[[nodiscard]] constexpr bool is_same_name(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, {}, small_letter, small_letter);
}

}  // namespace likewise::server
