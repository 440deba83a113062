// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cstdint>
#include <limits>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

/// A character of UTF-8 at the start of a text; `bytes` is 0 where there is none.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t bytes = 0;
};

CodePoint first_code_point(std::string_view text) {
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

/// Characters that control a terminal or the direction of text instead of being printed.
bool is_hidden(std::uint32_t c) {
  const bool control = c < 0x20 || (c >= 0x7f && c < 0xa0);
  const bool line_end = c == 0x2028 || c == 0x2029;
  const bool direction = c == 0x061c || c == 0x200e || c == 0x200f ||
                         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return control || line_end || direction;
}

std::string shown(std::string_view text, std::size_t most, bool keep_line_ends) {
  std::string result;
  std::size_t at = 0;
  while (at < std::min(most, text.size())) {
    const CodePoint c = first_code_point(text.substr(at));
    const std::size_t bytes = std::max<std::size_t>(1, c.bytes);
    const bool line_end = keep_line_ends && text[at] == '\n';
    if (line_end || (c.bytes > 0 && !is_hidden(c.value))) {
      result += text.substr(at, bytes);
    } else {
      for (const char byte : text.substr(at, bytes)) {
        result += fmt::format("\\x{:02x}", static_cast<unsigned char>(byte));
      }
    }
    at += bytes;
  }
  if (at < text.size()) result += "...";
  return result;
}

}  // namespace

std::string printable(std::string_view text, std::size_t most) { return shown(text, most, false); }

std::string printable_message(std::string_view text) {
  return shown(text, std::numeric_limits<std::size_t>::max(), true);
}

}  // namespace likewise
