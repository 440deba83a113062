// SPDX-License-Identifier: Apache-2.0
/// Text for people: colours where a terminal takes them, numbers, aligned tables.
#pragma once

#include <cstdio>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "likewise/error.h"
#include "likewise/types.h"

namespace likewise::cli {

/// Marks text only when the stream is a terminal that takes colour; NO_COLOR and TERM=dumb are
/// respected.
class Style {
 public:
  explicit Style(std::FILE* stream);
  [[nodiscard]] std::string bold(std::string_view text) const { return wrap("1", text); }
  [[nodiscard]] std::string dim(std::string_view text) const { return wrap("2", text); }
  [[nodiscard]] std::string accent(std::string_view text) const { return wrap("36", text); }
  [[nodiscard]] std::string good(std::string_view text) const { return wrap("32", text); }
  [[nodiscard]] std::string bad(std::string_view text) const { return wrap("1;31", text); }

 private:
  [[nodiscard]] std::string wrap(const char* code, std::string_view text) const;
  bool colour_;
};

/// Whether the stream is a terminal.
[[nodiscard]] bool is_terminal(std::FILE* stream);
/// Columns of the terminal behind standard error, 80 when it is none.
[[nodiscard]] int terminal_width();

/// 1234567 -> "1.23 M".
[[nodiscard]] std::string short_number(double number);
/// "2GiB", "500 MB", "1.5GiB", "1048576": bytes; nothing where it is no size.
[[nodiscard]] std::optional<Offset> parse_size(std::string_view text);
/// 0.0123 -> "12 ms", 83 -> "1 min 23 s".
[[nodiscard]] std::string duration(double seconds);

/// Code points, which is what alignment needs for the scripts that ids and titles come in.
[[nodiscard]] int display_width(std::string_view text);
/// `text` shortened or filled with spaces to `width`.
[[nodiscard]] std::string fit(std::string_view text, int width);
/// `text` cut to `width` with an ellipsis where it is longer.
[[nodiscard]] std::string shortened(std::string_view text, int width);

/// Between single quotes of any shell.
[[nodiscard]] std::string in_quotes(std::string_view text);
/// As a shell takes it for one word: quoted where it must be.
[[nodiscard]] std::string shell_word(std::string_view text);
/// The name of a file so that no command takes it for an option.
[[nodiscard]] std::string file_word(const std::string& path);

/// Rows of cells, aligned: the first column to the left, all others to the right.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header) : rows_{std::move(header)} {}
  void add(std::vector<std::string> row) { rows_.push_back(std::move(row)); }
  /// One line per row, each behind `indent` spaces.
  [[nodiscard]] std::string text(int indent = 2) const;

 private:
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace likewise::cli
