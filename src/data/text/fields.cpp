// SPDX-License-Identifier: Apache-2.0
#include "data/text/fields.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/write.h"

namespace likewise {
namespace {

bool is_blank(char c) { return c == ' ' || c == '\t'; }

}  // namespace

std::string Delimiter::name() const {
  if (kind == kDoubleColon) return "'::'";
  if (kind == kSpaces) return "spaces";
  return byte == '\t' ? "tab" : fmt::format("'{}'", byte);
}

FieldCursor::FieldCursor(std::string_view line, Delimiter delimiter)
    : at_(line.data()), end_(line.data() + line.size()), delimiter_(delimiter) {
  if (delimiter.kind != Delimiter::kSpaces) return;
  while (at_ < end_ && is_blank(*at_)) ++at_;
  while (at_ < end_ && is_blank(end_[-1])) --end_;
}

LineFault FieldCursor::next(std::string_view& field, std::string& unescaped) {
  if (ended_) return LineFault::kNoField;
  if (at_ < end_ && *at_ == '"') return next_quoted(field, unescaped);
  next_plain(field);
  return LineFault::kNone;
}

const char* FieldCursor::find_delimiter(const char* from) const {
  // Fields are short: a plain loop beats memchr's start-up.
  switch (delimiter_.kind) {
    case Delimiter::kByte:
      while (from < end_ && *from != delimiter_.byte) ++from;
      return from;
    case Delimiter::kDoubleColon:
      while (from < end_ && !(from[0] == ':' && from + 1 < end_ && from[1] == ':')) ++from;
      return from;
    case Delimiter::kSpaces:
      while (from < end_ && !is_blank(*from)) ++from;
      return from;
  }
  return end_;
}

void FieldCursor::step(const char* at) {
  if (at == end_) {
    ended_ = true;
    return;
  }
  at_ = at + (delimiter_.kind == Delimiter::kDoubleColon ? 2 : 1);
  if (delimiter_.kind != Delimiter::kSpaces) return;
  while (is_blank(*at_)) ++at_;  // the line does not end in a blank
}

void FieldCursor::next_plain(std::string_view& field) {
  const char* begin = at_;
  const char* end = find_delimiter(begin);
  step(end);
  while (begin < end && is_blank(*begin)) ++begin;
  while (begin < end && is_blank(end[-1])) --end;
  field = {begin, static_cast<std::size_t>(end - begin)};
}

LineFault FieldCursor::next_quoted(std::string_view& field, std::string& unescaped) {
  const char* begin = at_ + 1;
  const char* at = begin;
  bool doubled = false;
  while (true) {
    at = static_cast<const char*>(std::memchr(at, '"', static_cast<std::size_t>(end_ - at)));
    if (at == nullptr || at + 1 >= end_ || at[1] != '"') break;
    doubled = true;
    at += 2;
  }
  const char* after = at == nullptr ? nullptr : at + 1;
  if (after == nullptr || (after != end_ && find_delimiter(after) != after)) {
    if (delimiter_.strict_quotes()) {
      return after == nullptr ? LineFault::kUnclosedQuote : LineFault::kTextAfterQuote;
    }
    next_plain(field);
    return LineFault::kNone;
  }
  field = {begin, static_cast<std::size_t>(at - begin)};
  if (doubled) {
    unescaped.clear();
    for (const char* c = begin; c < at; ++c) {
      unescaped += *c;
      if (*c == '"') ++c;
    }
    field = unescaped;
  }
  step(after);
  return LineFault::kNone;
}

namespace {

/// The quote that closes the field which begins before `at`; npos: none within reach.
std::size_t closing_quote(std::string_view text, std::size_t at) {
  text = text.substr(0, std::min(text.size(), at + kMostQuotedBytes));
  while ((at = text.find('"', at)) != std::string_view::npos) {
    if (at + 1 == text.size() || text[at + 1] != '"') break;
    at += 2;  // doubled
  }
  return at;
}

}  // namespace

std::size_t row_end(std::string_view text, Delimiter delimiter, bool whole) {
  constexpr std::size_t kNone = std::string_view::npos;
  std::size_t line_end = text.find('\n');
  if (!delimiter.strict_quotes()) return line_end;
  std::size_t at = 0;
  while ((at = text.substr(0, line_end).find('"', at)) != kNone) {
    const bool begins_field = at == 0 || text[at - 1] == delimiter.byte;
    if (!begins_field) {
      ++at;
      continue;
    }
    const std::size_t close = closing_quote(text, at + 1);
    // What follows the quote, and whether more is to be seen, decide what it is.
    const bool more = !whole && text.size() - at <= kMostQuotedBytes;
    if (close == kNone) return more ? kNone : line_end;
    const std::string_view after = text.substr(close + 1);
    if (more && (after.empty() || after == "\r")) return kNone;
    const bool closed = after.empty() || after[0] == delimiter.byte || after[0] == '\n' ||
                        after.starts_with("\r\n");
    if (close > line_end) {
      if (!closed) return line_end;
      line_end = text.find('\n', close + 1);
    } else if (!closed) {
      return line_end;
    }
    at = close + 1;
  }
  return line_end;
}

std::size_t whole_rows(std::string_view text, Delimiter delimiter) {
  if (!delimiter.strict_quotes() || text.find('"') == std::string_view::npos) {
    return text.rfind('\n') + 1;  // npos + 1 is 0
  }
  std::size_t rows = 0;
  while (true) {
    const std::size_t end = row_end(text.substr(rows), delimiter, false);
    if (end == std::string_view::npos) return rows;
    rows += end + 1;
  }
}

LineFault split_line(std::string_view line, Delimiter delimiter, std::vector<std::string>& fields) {
  fields.clear();
  FieldCursor cursor(line, delimiter);
  std::string_view field;
  std::string unescaped;
  while (true) {
    const LineFault fault = cursor.next(field, unescaped);
    if (fault == LineFault::kNoField) return LineFault::kNone;
    if (fault != LineFault::kNone) return fault;
    fields.emplace_back(field);
  }
}

void append_field(std::string& out, std::string_view text, char delimiter) {
  const bool plain =
      !text.empty() && !is_blank(text.front()) && !is_blank(text.back()) &&
      text.find_first_of(std::string_view("\"\r\n\0", 4)) == std::string_view::npos &&
      text.find(delimiter) == std::string_view::npos;
  if (plain) {
    out += text;
    return;
  }
  if (text.find('\0') != std::string_view::npos) {
    throw Error(ErrorKind::kBadData, fmt::format("'{}' has a zero byte, which text files cannot "
                                                 "hold: give it another id",
                                                 printable(text)));
  }
  if (delimiter == '\t' && text.find('\n') != std::string_view::npos) {
    throw Error(ErrorKind::kBadData, fmt::format("'{}' has a line break, which tab-separated text "
                                                 "cannot hold: write .csv",
                                                 printable(text)));
  }
  out += '"';
  for (const char c : text) {
    if (c == '"') out += '"';
    out += c;
  }
  out += '"';
}

std::string text_after_quote(std::string_view line) {
  if (line.find("\\\"") != std::string_view::npos) {
    return fmt::format(
        "quotes inside quotes are written \\\", as by MySQL and Spark: write them twice, as in "
        "RFC 4180 (in Spark option(\"escape\", \"\\\"\")): '{}'",
        printable(line));
  }
  return fmt::format("text follows a quoted field (write a quote inside quotes twice): '{}'",
                     printable(line));
}

}  // namespace likewise
