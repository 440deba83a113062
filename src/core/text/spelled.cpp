// SPDX-License-Identifier: Apache-2.0
/// Parameters in messages: BEGIN name [VALUE value] END, of characters that no text shows.
#include <algorithm>

#include "likewise/error.h"

namespace likewise {
namespace {

constexpr char kBegin = '\x01';
constexpr char kValue = '\x02';
constexpr char kEnd = '\x03';

}  // namespace

std::string mention(std::string_view parameter, std::string_view value) {
  std::string text(1, kBegin);
  text += parameter;
  if (!value.empty()) (text += kValue) += value;
  return text += kEnd;
}

std::string mentions(std::string_view text) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find('{');
    const std::size_t end = text.find('}', begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    result += text.substr(0, begin);
    const std::string_view inside = text.substr(begin + 1, end - begin - 1);
    const std::size_t blank = std::min(inside.find(' '), inside.size());
    result += mention(inside.substr(0, blank), inside.substr(std::min(blank + 1, inside.size())));
    text.remove_prefix(end + 1);
  }
  return result += text;
}

std::string spelled(std::string_view text, const Spelling& spelling) {
  std::string result;
  while (true) {
    const std::size_t begin = text.find(kBegin);
    const std::size_t end = text.find(kEnd, begin);
    if (begin == std::string_view::npos || end == std::string_view::npos) break;
    result += text.substr(0, begin);
    const std::string_view inside = text.substr(begin + 1, end - begin - 1);
    const std::size_t value = inside.find(kValue);
    const bool is_alone = value == std::string_view::npos;
    result += spelling(inside.substr(0, value), is_alone ? "" : inside.substr(value + 1));
    text.remove_prefix(end + 1);
  }
  return result += text;
}

std::string spelled(std::string_view text) {
  return spelled(text, [](std::string_view parameter, std::string_view value) {
    return std::string(parameter) + (value.empty() ? "" : " ") + std::string(value);
  });
}

}  // namespace likewise
