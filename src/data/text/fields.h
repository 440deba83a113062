// SPDX-License-Identifier: Apache-2.0
/// A line of text and its fields.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace likewise {

/// One byte, "::", or any run of spaces and tabs.
struct Delimiter {
  enum Kind : std::uint8_t { kByte, kDoubleColon, kSpaces };
  Kind kind = kByte;
  char byte = ',';

  [[nodiscard]] std::string name() const;
  /// RFC 4180 quotes hold for , ; and |. In the other formats a quote that does not open and close
  /// a whole field is a letter like any other, as in the artist "Weird Al" Yankovic.
  [[nodiscard]] bool strict_quotes() const { return kind == kByte && byte != '\t'; }
  friend bool operator==(const Delimiter&, const Delimiter&) = default;
};

enum class LineFault : std::uint8_t { kNone, kNoField, kUnclosedQuote, kTextAfterQuote };

/// Walks over the fields of a line without its line end. Spaces around a field without quotes are
/// not part of it.
class FieldCursor {
 public:
  FieldCursor(std::string_view line, Delimiter delimiter);

  /// The next field; kNoField after the last. `unescaped` holds the text of fields with doubled
  /// quotes, and must live as long as `field`.
  LineFault next(std::string_view& field, std::string& unescaped);
  [[nodiscard]] bool ended() const { return ended_; }

 private:
  LineFault next_quoted(std::string_view& field, std::string& unescaped);
  void next_plain(std::string_view& field);
  [[nodiscard]] const char* find_delimiter(const char* from) const;
  /// Steps over the delimiter at `at`, or ends.
  void step(const char* at);

  const char* at_;
  const char* end_;
  Delimiter delimiter_;
  bool ended_ = false;
};

/// A quoted field that goes on over a line end does not have more bytes than this: a stray quote
/// must not swallow the file.
inline constexpr std::size_t kMostQuotedBytes = std::size_t{1} << 16;

/// Where the row that begins `text` ends: at a line end (LF), or nowhere in it (npos). Where quotes
/// are strict a quoted field may hold line ends; one that does not end, or that text follows, ends
/// with its line, which is a bad row. `whole`: nothing comes after the text.
[[nodiscard]] std::size_t row_end(std::string_view text, Delimiter delimiter, bool whole);

/// The bytes of the whole rows that begin `text`, to which more may come.
[[nodiscard]] std::size_t whole_rows(std::string_view text, Delimiter delimiter);

/// All fields of a line, for looking at headers; the fault of the first broken field.
[[nodiscard]] LineFault split_line(std::string_view line, Delimiter delimiter,
                                   std::vector<std::string>& fields);

/// What is wrong with a line that has text behind a quoted field, and what to do.
[[nodiscard]] std::string text_after_quote(std::string_view line);

}  // namespace likewise
