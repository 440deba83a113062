// SPDX-License-Identifier: Apache-2.0
/// `JsonText`: JSON, written piece by piece into one string. Answers are long and go out once: a
/// tree of them would cost more than the answer itself.
#pragma once

#include <array>
#include <charconv>
#include <concepts>
#include <string>
#include <string_view>
#include <utility>

namespace likewise::server {

/// What JSON can hold as it is; JsonText writes a mark in place of each byte that is none of it.
[[nodiscard]] bool is_utf8(std::string_view text);

class JsonText {
 public:
  JsonText& begin_object() { return begin('{'); }
  JsonText& end_object() { return end('}'); }
  JsonText& begin_array() { return begin('['); }
  JsonText& end_array() { return end(']'); }
  JsonText& key(std::string_view name);

  JsonText& value(std::string_view text);
  JsonText& value(const char* text) { return value(std::string_view(text)); }
  JsonText& value(bool flag) { return raw(flag ? "true" : "false"); }
  /// Finite numbers, with as many digits as tell them apart.
  template <class Number>
  requires(std::integral<Number> || std::floating_point<Number>) JsonText& value(Number number) {
    std::array<char, 32> digits{};
    const auto done = std::to_chars(digits.data(), digits.data() + digits.size(), number);
    return raw({digits.data(), done.ptr});
  }
  /// A value that is JSON already.
  JsonText& raw(std::string_view json);

  [[nodiscard]] std::string take() { return std::move(text_); }

 private:
  JsonText& begin(char bracket);
  JsonText& end(char bracket);
  void separate() {
    if (follows_) text_ += ',';
  }

  std::string text_;
  bool follows_ = false;  ///< whether a value stands before the next one
};

}  // namespace likewise::server
