// SPDX-License-Identifier: Apache-2.0
#include "data/text/format.h"

#include <algorithm>
#include <cstring>
#include <functional>
#include <limits>
#include <map>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "data/text/counts_line.h"
#include "data/text/doubts.h"
#include "data/text/numbers.h"
#include "likewise/error.h"

namespace likewise {
namespace {

[[noreturn]] void fail(const std::string& file, ErrorKind kind, const std::string& why) {
  throw Error(kind, fmt::format("{}: {}", file, why));
}

void check_is_text(std::string_view text, const std::string& file) {
  constexpr std::string_view kUtf32[] = {{"\xff\xfe\0\0", 4}, {"\0\0\xfe\xff", 4}};
  if (text.starts_with(kUtf32[0]) || text.starts_with(kUtf32[1])) {
    fail(file, ErrorKind::kBadData, "is UTF-32 text: convert it to UTF-8 first");
  }
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    fail(file, ErrorKind::kBadData, "is UTF-16 text: convert it to UTF-8 first");
  }
  const auto zero = text.find('\0');
  if (zero != std::string_view::npos) {
    fail(file, ErrorKind::kBadData,
         fmt::format("is not text (byte {} is zero): expected rows of user, item[, value[, time]]",
                     zero + 1));
  }
  if (text.find('\n') == std::string_view::npos && text.find('\r') + 1 < text.size()) {
    if (text.find('\r') == std::string_view::npos) return;
    fail(file, ErrorKind::kBadData, "its lines end in CR alone: convert them to LF first");
  }
}

/// How well a delimiter fits: the most common number of fields and how many of all lines have it.
struct Fit {
  std::size_t lines = 0;
  std::size_t fields = 0;
  std::size_t all = 1;
};

/// Below, at or above 0: whether `a` has a smaller share of its lines than `b`, the same or a
/// larger.
int compare_shares(const Fit& a, const Fit& b) {
  const std::size_t left = a.lines * b.all;
  const std::size_t right = b.lines * a.all;
  return left < right ? -1 : left > right ? 1 : 0;
}

Fit fit_of(Delimiter delimiter, const std::vector<std::string_view>& lines) {
  std::map<std::size_t, std::size_t> lines_with;
  std::vector<std::string> fields;
  for (const std::string_view line : lines) {
    if (split_line(line, delimiter, fields) == LineFault::kNone) ++lines_with[fields.size()];
  }
  Fit best{.all = lines.size()};
  for (const auto& [count, times] : lines_with) {
    if (count >= 2 && times >= best.lines) best = {times, count, lines.size()};
  }
  return best;
}

/// The delimiter by which the largest share of its lines have the same number of fields; of
/// several, the one with the most fields; then the earlier one in this list. Spaces come into
/// question only where nothing else fits as well: they are also parts of names.
Delimiter detect_delimiter(const LinesBy& lines, const std::string& file, const char* expected,
                           bool decimal_comma) {
  constexpr Delimiter kCandidates[] = {{Delimiter::kByte, '\t'}, {Delimiter::kDoubleColon, ':'},
                                       {Delimiter::kByte, ','},  {Delimiter::kByte, ';'},
                                       {Delimiter::kByte, '|'},  {Delimiter::kSpaces, ' '}};
  Fit best;
  Delimiter chosen;
  for (const Delimiter candidate : kCandidates) {
    if (decimal_comma && candidate.byte == ',') continue;
    const Fit fit = fit_of(candidate, lines(candidate));
    const bool more = candidate.kind != Delimiter::kSpaces && fit.fields > best.fields;
    const int better = compare_shares(fit, best);
    if (better > 0 || (better == 0 && more)) {
      best = fit;
      chosen = candidate;
    }
  }
  if (best.lines > 0) return chosen;
  fail(file, ErrorKind::kBadData,
       fmt::format("found no delimiter (tab, comma, ';', '|', '::' or space) in the first line "
                   "'{}': expected {}",
                   printable(lines({}).front()), expected));
}

Delimiter parse_delimiter(const std::string& text, const std::string& file) {
  if (text == "::") return {Delimiter::kDoubleColon, ':'};
  if (text == " " || text == "space") return {Delimiter::kSpaces, ' '};
  if (text == "\\t" || text == "tab") return {Delimiter::kByte, '\t'};
  constexpr std::string_view kImpossible("\"\r\n\0", 4);
  if (text.size() == 1 && kImpossible.find(text[0]) == std::string_view::npos) {
    return {Delimiter::kByte, text[0]};
  }
  fail(file, ErrorKind::kInvalidArgument,
       fmt::format("delimiter '{}' is not possible: use one character, 'tab', 'space' or '::'",
                   printable(text)));
}

/// The first line's fields, and those of the others that are not broken.
SampleRows sample_rows(const std::vector<std::string_view>& lines, Delimiter delimiter,
                       const std::string& file) {
  SampleRows rows;
  for (const std::string_view line : lines) {
    std::vector<std::string> fields;
    const LineFault fault = split_line(line, delimiter, fields);
    if (fault == LineFault::kNone) {
      rows.push_back(std::move(fields));
    } else if (rows.empty()) {
      fail(file, ErrorKind::kBadData,
           fmt::format("the first line has a broken quoted field: {}",
                       fault == LineFault::kTextAfterQuote
                           ? text_after_quote(line)
                           : fmt::format("it does not end: '{}'", printable(line))));
    }
  }
  return rows;
}

}  // namespace

std::size_t usual_fields(const SampleRows& rows) {
  std::map<std::size_t, std::size_t> rows_with;
  for (const auto& row : rows) ++rows_with[row.size()];
  const auto usual =
      std::max_element(rows_with.begin(), rows_with.end(), [](const auto& a, const auto& b) {
        return std::pair(a.second, a.first) < std::pair(b.second, b.first);
      });
  return usual->first;
}

bool looks_like_header(const SampleRows& rows, bool known_names) {
  const auto is_number = [](const std::string& text) { return has_form_of_number(text); };
  const std::vector<std::string>& first = rows.front();
  if (std::any_of(first.begin(), first.end(), is_number)) return false;
  if (known_names) return true;
  std::vector<bool> numbers(first.size(), rows.size() > 1);
  for (std::size_t i = 1; i < rows.size(); ++i) {
    for (std::size_t c = 0; c < first.size(); ++c) {
      numbers[c] = numbers[c] && c < rows[i].size() && is_number(rows[i][c]);
    }
  }
  return std::find(numbers.begin(), numbers.end(), true) != numbers.end();
}

bool names_a_column(const std::vector<std::string>& columns) {
  return std::any_of(columns.begin(), columns.end(), [](const std::string& column) {
    return !column.empty() && column != "-" &&
           column.find_first_not_of("0123456789") != std::string::npos;
  });
}

namespace {

/// Users or items by one of their well-known names.
bool has_known_names(const std::vector<std::string>& names) {
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    return is_known_name(kUser, name) || is_known_name(kItem, name);
  });
}

bool has_header(const SampleRows& rows, const std::string& file, const ReadOptions& options) {
  const bool named = names_a_column(options.columns);
  switch (options.header) {
    case Header::kYes:
      return true;
    case Header::kNo:
      if (!named) return false;
      fail(file, ErrorKind::kInvalidArgument,
           fmt::format("columns by name need a header, which {} rules out: number them from 1",
                       mention("header", "no")));
    case Header::kAuto:
      break;
  }
  return named || looks_like_header(rows, has_known_names(rows.front()));
}

}  // namespace

bool is_comment(std::string_view line) {
  if (line.empty() || (line[0] != '#' && line[0] != '%')) return false;
  return line.size() == 1 || line[1] == ' ' || line[1] == '\t' || line[1] == line[0];
}

namespace {

/// "sep=;", as Excel has it: the delimiter.
std::optional<std::string> stated_delimiter(std::string_view line) {
  if (line.size() == 7 && line.front() == '"' && line.back() == '"') line = line.substr(1, 5);
  if (line.size() != 5 || (line.substr(0, 4) != "sep=" && line.substr(0, 4) != "SEP=")) return {};
  return line[4] == '\t' ? "tab" : std::string(line.substr(4));
}

/// What stands before the table: a byte order mark, comments, the delimiter. Returns the rest.
FileHead skip_preamble(FileFormat& format, const FileHead& head, std::string& delimiter) {
  if (head.text.starts_with(kByteOrderMark)) format.data_begin = kByteOrderMark.size();
  LineReader lines(head.text.substr(format.data_begin));
  std::string_view line;
  while (lines.next(line)) {
    const auto stated = stated_delimiter(line);
    if (!stated && !is_comment(line)) break;
    if (stated && delimiter.empty()) delimiter = *stated;
    format.data_begin = lines.position(head.text);
    format.lines_before = lines.lines();
  }
  return {head.text.substr(format.data_begin), head.whole};
}

/// Bytes and lines up to the end of the first line that is not blank: a header, or counts.
void skip_first_line(FileFormat& format, std::string_view text) {
  LineReader reader(text.substr(format.data_begin), format.delimiter);
  std::string_view line;
  while (reader.next(line) && is_blank_line(line)) {
  }
  format.data_begin = reader.position(text);
  format.lines_before += reader.lines();
}

/// The caller's delimiter, or that of the first lines. What may be counts has no say: they may lie
/// between blanks whatever separates the rows.
Delimiter delimiter_of(const FileHead& head, std::string_view first, bool may_be_counts,
                       const std::string& wanted, const std::string& file, bool decimal_comma) {
  if (!wanted.empty()) return parse_delimiter(wanted, file);
  const bool counts = may_be_counts && possible_counts(first, {Delimiter::kSpaces, ' '});
  const auto lines = [&](Delimiter delimiter) {
    auto some = sample_lines(head, LineReader(head.text, delimiter));
    if (counts && some.size() > 2) some.erase(some.begin());
    return some;
  };
  const std::string expected = fmt::format(
      "user, item[, value[, time]]; say {} if it is another one", mention("delimiter", "TEXT"));
  return detect_delimiter(lines, file, expected.c_str(), decimal_comma);
}

/// Leaves the first line out of the data, to be looked at once the rest is known, unless the
/// columns say that it holds no counts.
void take_counts(FileFormat& format, CountsLine counts, const SampleRows& sample,
                 std::string_view text) {
  const auto& columns = format.columns;
  counts.like_a_row = counts.like_a_row && format.fields == 3;
  const bool other_value = counts.like_a_row && format.has(kValue) && columns[kValue] != 2;
  if (columns[kUser] + columns[kItem] != 1 || other_value) return;
  if (columns[kUser] == 1) std::swap(counts.users, counts.items);
  counts.largest = -std::numeric_limits<double>::infinity();
  for (const auto& row : sample) {
    const auto value = row.size() == 3 ? parse_value(row[2]) : std::nullopt;
    const double one = value ? double{*value} : std::numeric_limits<double>::infinity();
    counts.largest = std::max(counts.largest, one);
  }
  format.counts = std::move(counts);
  skip_first_line(format, text);
}

/// Throws for a decimal sign that cannot be.
void check_decimal(FileFormat& format, const ReadOptions& options) {
  if (options.decimal != "." && options.decimal != ",") {
    fail(format.file, ErrorKind::kInvalidArgument,
         fmt::format("decimal must be '.' or ',', not '{}'", printable(options.decimal)));
  }
  format.decimal_comma = options.decimal == ",";
  if (!format.decimal_comma || options.delimiter != ",") return;
  fail(format.file, ErrorKind::kInvalidArgument,
       fmt::format("{} separates columns by what {} has in numbers", mention("delimiter", ","),
                   mention("decimal", ",")));
}

/// Options of columns that are not read.
void refuse_idle_options(const FileFormat& format, const ReadOptions& options) {
  const auto refuse_where = [&](bool idle, const char* option, const char* what) {
    if (!idle) return;
    fail(format.file, ErrorKind::kInvalidArgument,
         fmt::format("{} would do nothing: no column of {} is read", mention(option), what));
  };
  refuse_where(!options.time_format.empty() && !format.has(kTime), "time_format", "times");
  refuse_where(format.decimal_comma && !format.has(kValue), "decimal", "values");
}

/// A user and its items on each line.
FileFormat adjacency_format(const FileHead& head, const std::string& file,
                            const ReadOptions& options) {
  const auto refuse = [&](const std::string& why) {
    fail(file, ErrorKind::kInvalidArgument, "adjacency: " + why);
  };
  if (is_matrix_market(head.text)) {
    refuse("the file is Matrix Market: leave out " + mention("format"));
  }
  if (!options.columns.empty()) {
    refuse("the first id of a line is the user, the others are items: leave out " +
           mention("columns"));
  }
  if (options.header == Header::kYes) refuse("it has no header: leave out " + mention("header"));
  if (options.values == Values::kRequired) {
    refuse("values are needed (for explicit feedback, RMSE or MAE), but lists of items have none");
  }
  refuse_given(file, options, {"decimal", "time_format", "values"}, "lists of items");
  FileFormat format;
  format.file = file;
  format.adjacency = true;
  format.columns = {0, 1, -1, -1};
  FileHead body = head;
  if (body.text.starts_with(kByteOrderMark)) {
    format.data_begin = kByteOrderMark.size();
    body.text.remove_prefix(kByteOrderMark.size());
  }
  format.delimiter = options.delimiter.empty() ? Delimiter{Delimiter::kSpaces, ' '}
                                               : parse_delimiter(options.delimiter, file);
  const auto lines = sample_lines(body, LineReader(body.text, format.delimiter));
  if (lines.empty()) fail(file, ErrorKind::kBadData, "has only blank lines");
  const SampleRows rows = sample_rows(lines, format.delimiter, file);
  if (options.header == Header::kAuto && looks_like_header(rows, has_known_names(rows.front()))) {
    fail(file + ":1", ErrorKind::kBadData,
         fmt::format("adjacency: '{}' looks like a header, which such a file does not have: delete "
                     "the line, or say with {} that it is a user with items",
                     printable(lines.front()), mention("header", "no")));
  }
  format.description = describe(format);
  return format;
}

}  // namespace

void refuse_given(const std::string& file, const ReadOptions& options,
                  std::initializer_list<std::string_view> idle, const std::string& kind) {
  const std::pair<std::string_view, bool> given[] = {
      {"format", options.format != Format::kAuto},
      {"columns", !options.columns.empty()},
      {"delimiter", !options.delimiter.empty()},
      {"header", options.header != Header::kAuto},
      {"decimal", options.decimal != "."},
      {"time_format", !options.time_format.empty()},
      {"values", !options.word_values.empty() && options.values != Values::kUnused}};
  for (const auto& [option, is_given] : given) {
    if (!is_given || std::ranges::find(idle, option) == idle.end()) continue;
    fail(file, ErrorKind::kInvalidArgument,
         fmt::format("{} would do nothing: the file is {}", mention(option), kind));
  }
}

std::string FileFormat::place(Offset number) const {
  return counts_rows ? fmt::format("{}: row {}", file, number) : fmt::format("{}:{}", file, number);
}

std::string describe(const FileFormat& format, bool counts) {
  std::string kind = format.delimiter == Delimiter{Delimiter::kByte, ','} ? "csv"
                     : format.delimiter == Delimiter{Delimiter::kByte, '\t'}
                         ? "tsv"
                         : "separated by " + format.delimiter.name();
  if (format.adjacency) return "adjacency, " + kind;
  if (format.names.empty()) return kind + (counts ? ", line of counts" : ", no header");
  const std::string names = fmt::format("{}", fmt::join(format.names, ","));
  constexpr std::size_t kMost = 200;
  return kind + ", header " + printable(names, kMost);
}

TableStart find_fields(const LinesBy& lines, const std::string& delimiter, const std::string& file,
                       const char* expected) {
  const Delimiter chosen = delimiter.empty() ? detect_delimiter(lines, file, expected, false)
                                             : parse_delimiter(delimiter, file);
  return {chosen, sample_rows(lines(chosen), chosen, file)};
}

bool LineReader::next(std::string_view& line) {
  if (rest_.empty()) return false;
  const auto end = quoted_ ? row_end(rest_, delimiter_, true) : rest_.find('\n');
  line = rest_.substr(0, end);
  rest_.remove_prefix(end == std::string_view::npos ? rest_.size() : end + 1);
  first_line_ = ++lines_;
  if (quoted_) lines_ += std::count(line.begin(), line.end(), '\n');
  if (line.ends_with('\r')) line.remove_suffix(1);
  return true;
}

bool is_blank_line(std::string_view line) {
  return line.find_first_not_of(" \t") == std::string_view::npos;
}

std::vector<std::string_view> sample_lines(const FileHead& head, LineReader reader) {
  std::vector<std::string_view> lines;
  std::string_view line;
  while (lines.size() < kSampleLines && reader.next(line)) {
    if (!is_blank_line(line)) lines.push_back(line);
  }
  const bool cut =
      !head.whole && !head.text.ends_with('\n') && reader.position(head.text) == head.text.size();
  if (cut && lines.size() > 1) lines.pop_back();
  return lines;
}

FileFormat detect_format(const FileHead& head, const std::string& file,
                         const ReadOptions& options) {
  if (head.text.empty()) fail(file, ErrorKind::kBadData, "is empty");
  refuse_other_texts(head.text, file);
  check_is_text(head.text, file);
  const bool adjacency = options.format == Format::kAdjacency;
  if (!adjacency && !head.whole && head.text.find('\n') == std::string_view::npos) {
    fail(file + ":1", ErrorKind::kBadData,
         fmt::format("the line is longer than {} bytes: is this a file of interactions?",
                     head.text.size() - 1));
  }
  if (adjacency) return adjacency_format(head, file, options);
  if (is_matrix_market(head.text)) {
    if (!options.columns.empty()) {
      fail(file, ErrorKind::kInvalidArgument,
           "is Matrix Market, where rows are users and columns are items: leave out " +
               mention("columns"));
    }
    refuse_given(file, options, {"delimiter", "header", "decimal", "time_format", "values"},
                 "Matrix Market");
    FileFormat format = read_matrix_market_head(head, file);
    check_values(format, options);
    return format;
  }

  FileFormat format;
  format.file = file;
  check_decimal(format, options);
  format.time_format = options.time_format;
  std::string delimiter = options.delimiter;
  const FileHead body = skip_preamble(format, head, delimiter);
  auto lines = sample_lines(body, LineReader(body.text));
  if (lines.empty()) fail(file, ErrorKind::kBadData, "has only blank lines and comments");
  refuse_other_lines(lines, file, options);
  const bool may_be_counts =
      options.header == Header::kAuto && !names_a_column(options.columns) && lines.size() > 1;
  format.delimiter =
      delimiter_of(body, lines.front(), may_be_counts, delimiter, file, format.decimal_comma);
  lines = sample_lines(body, LineReader(body.text, format.delimiter));
  SampleRows rows = sample_rows(lines, format.delimiter, file);
  const auto counts = may_be_counts && rows.size() > 1
                          ? possible_counts(lines.front(), format.delimiter)
                          : std::nullopt;
  if (!counts && has_header(rows, file, options)) {
    format.names = std::move(rows.front());
    rows.erase(rows.begin());
    format.fields = format.names.size();
    skip_first_line(format, head.text);
  } else {
    if (counts) rows.erase(rows.begin());
    format.fields = usual_fields(rows);
  }
  if (counts || !format.names.empty()) lines.erase(lines.begin());
  refuse_trec(format, rows, options);
  choose_columns(format, options, rows);
  refuse_idle_options(format, options);
  refuse_doubtful_table(format, rows, lines, options);
  if (counts) take_counts(format, *counts, rows, head.text);
  format.description = describe(format);
  return format;
}

}  // namespace likewise
