// SPDX-License-Identifier: Apache-2.0
/// Characters of UTF-8.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace likewise {

/// The character at the start of a text; `bytes` is 0 where it is not UTF-8.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

/// Of a text that is not empty.
[[nodiscard]] inline CodePoint first_code_point(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return {lead, 1};
  const std::size_t bytes = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  if (lead < 0xc2 || lead > 0xf4 || text.size() < bytes) return {};
  std::uint32_t value = lead & (0x7fU >> bytes);
  for (std::size_t i = 1; i < bytes; ++i) {
    if ((byte(i) & 0xc0U) != 0x80) return {};
    value = value << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::uint32_t kLeast[] = {0, 0, 0x80, 0x800, 0x10000};
  const bool surrogate = value >= 0xd800 && value < 0xe000;
  if (value < kLeast[bytes] || value > 0x10ffff || surrogate) return {};
  return {value, bytes};
}

[[nodiscard]] inline bool is_control(std::uint32_t c) {
  return c < 0x20 || (c >= 0x7f && c < 0xa0);
}

/// Appends a character below 0x10000.
inline void append_utf8(std::string& out, std::uint32_t c) {
  if (c < 0x80) {
    out += static_cast<char>(c);
  } else if (c < 0x800) {
    out += static_cast<char>(0xc0U | c >> 6);
    out += static_cast<char>(0x80U | (c & 0x3fU));
  } else {
    out += static_cast<char>(0xe0U | c >> 12);
    out += static_cast<char>(0x80U | (c >> 6 & 0x3fU));
    out += static_cast<char>(0x80U | (c & 0x3fU));
  }
}

}  // namespace likewise
