// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <limits>

#include <fmt/format.h>

#include "core/text/utf8.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// Characters that control a terminal or the direction of text instead of being printed.
bool is_hidden(std::uint32_t c) {
  const bool line_end = c == 0x2028 || c == 0x2029;
  const bool direction = c == 0x061c || c == 0x200e || c == 0x200f ||
                         (c >= 0x202a && c <= 0x202e) || (c >= 0x2066 && c <= 0x2069);
  return is_control(c) || line_end || direction;
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
