// SPDX-License-Identifier: Apache-2.0
#include "server/json_text.h"

namespace likewise::server {
namespace {

constexpr std::string_view kHex = "0123456789abcdef";

[[nodiscard]] bool plain(char c) {
  return static_cast<unsigned char>(c) >= 0x20 && c != '"' && c != '\\';
}

void escape(std::string& text, char c) {
  text += '\\';
  if (c == '"' || c == '\\') {
    text += c;
    return;
  }
  const auto code = static_cast<unsigned char>(c);
  text += "u00";
  text += kHex[code >> 4U];
  text += kHex[code & 15U];
}

/// The length of the UTF-8 character at `at`; 0 where there is none.
[[nodiscard]] std::size_t character(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) {
    return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0U;
  };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  const std::size_t size = first >= 0xF0 ? 4 : first >= 0xE0 ? 3 : 2;
  if (first < 0xC2 || first > 0xF4) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if ((byte(i) & 0xC0U) != 0x80) return 0;
  }
  const bool wrong = (first == 0xE0 && byte(1) < 0xA0) || (first == 0xED && byte(1) > 0x9F) ||
                     (first == 0xF0 && byte(1) < 0x90) || (first == 0xF4 && byte(1) > 0x8F);
  return wrong ? 0 : size;
}

/// What is not ASCII: a character as it is, a byte of none as the mark for that.
std::size_t append_wide(std::string& to, std::string_view text, std::size_t at) {
  const std::size_t size = character(text, at);
  if (size == 0) {
    to += "\xEF\xBF\xBD";
    return 1;
  }
  to += text.substr(at, size);
  return size;
}

}  // namespace

bool is_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = character(text, at);
    if (size == 0) return false;
    at += size;
  }
  return true;
}

JsonText& JsonText::begin(char bracket) {
  separate();
  text_ += bracket;
  follows_ = false;
  return *this;
}

JsonText& JsonText::end(char bracket) {
  text_ += bracket;
  follows_ = true;
  return *this;
}

JsonText& JsonText::key(std::string_view name) {
  value(name);
  text_ += ':';
  follows_ = false;
  return *this;
}

JsonText& JsonText::value(std::string_view text) {
  separate();
  text_ += '"';
  std::size_t at = 0;
  while (at < text.size()) {
    if (static_cast<unsigned char>(text[at]) >= 0x80) {
      at += append_wide(text_, text, at);
    } else if (plain(text[at])) {
      text_ += text[at++];
    } else {
      escape(text_, text[at++]);
    }
  }
  text_ += '"';
  follows_ = true;
  return *this;
}

JsonText& JsonText::raw(std::string_view json) {
  separate();
  text_ += json;
  follows_ = true;
  return *this;
}

}  // namespace likewise::server
