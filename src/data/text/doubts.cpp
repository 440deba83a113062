// SPDX-License-Identifier: Apache-2.0
#include "data/text/doubts.h"

#include <algorithm>
#include <array>
#include <cctype>

#include <fmt/format.h>

#include "data/text/blocks.h"
#include "data/text/numbers.h"
#include "likewise/error.h"
#include "likewise/interactions.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const std::string& file, const std::string& why,
                         ErrorKind kind = ErrorKind::kInvalidArgument) {
  throw Error(kind, fmt::format("{}: {}", file, why));
}

/// "3:1", "0:3:0.5": a feature of a row.
bool is_feature(std::string_view field) {
  const std::size_t colon = field.find(':');
  return colon != std::string_view::npos && are_digits(field.substr(0, colon)) &&
         parse_double(field.substr(field.rfind(':') + 1)).has_value();
}

/// A number and its features.
bool is_feature_row(std::string_view line) {
  std::vector<std::string> fields;
  if (split_line(line, {Delimiter::kSpaces, ' '}, fields) != LineFault::kNone) return false;
  return fields.size() > 1 && parse_double(fields.front()) &&
         std::all_of(fields.begin() + 1, fields.end(), is_feature);
}

/// The parts of an id between a delimiter.
std::vector<std::string_view> parts_of(std::string_view id, std::string_view delimiter) {
  std::vector<std::string_view> parts;
  while (true) {
    const std::size_t end = id.find(delimiter);
    parts.push_back(id.substr(0, end));
    if (end == std::string_view::npos) return parts;
    id.remove_prefix(end + delimiter.size());
  }
}

std::vector<std::string_view> column_of(const SampleRows& sample, int column) {
  std::vector<std::string_view> cells;
  for (const auto& row : sample) {
    const auto c = static_cast<std::size_t>(column);
    if (c < row.size() && !row[c].empty()) cells.emplace_back(row[c]);
  }
  return cells;
}

/// Whether every id has as many parts as the first, and one of them is a number in all; between
/// spaces, which are parts of names ("user 7"), all are.
bool holds_rows(const std::vector<std::string_view>& ids, std::string_view delimiter) {
  if (ids.empty()) return false;
  std::vector<bool> numbers(parts_of(ids.front(), delimiter).size(), true);
  if (numbers.size() == 1) return false;
  for (const std::string_view id : ids) {
    const auto parts = parts_of(id, delimiter);
    if (parts.size() != numbers.size()) return false;
    for (std::size_t p = 0; p < parts.size(); ++p) {
      numbers[p] = numbers[p] && parse_double(parts[p]).has_value();
    }
  }
  const auto count = std::count(numbers.begin(), numbers.end(), true);
  return delimiter == " " ? count == std::ssize(numbers) : count > 0;
}

struct Candidate {
  std::string_view text;
  const char* name;
};
constexpr std::array<Candidate, 6> kDelimiters{
    {{"\t", "tab"}, {"::", "::"}, {",", ","}, {";", ";"}, {"|", "|"}, {" ", "space"}}};

/// Whether the header calls this column as users or items are called.
bool is_named(const FileFormat& format, Role role) {
  const auto column = static_cast<std::size_t>(format.columns[role]);
  return column < format.names.size() && is_known_name(role, format.names[column]);
}

/// The rows without a quote: who quotes a field knows of the delimiters in it.
SampleRows rows_without_quotes(const std::vector<std::string_view>& lines, Delimiter delimiter) {
  SampleRows rows;
  for (const std::string_view line : lines) {
    if (line.find('"') != std::string_view::npos) continue;
    if (split_line(line, delimiter, rows.emplace_back()) != LineFault::kNone) rows.pop_back();
  }
  return rows;
}

void refuse_mixed_delimiters(const FileFormat& format, const SampleRows& sample) {
  for (const Role role : {kUser, kItem}) {
    const auto ids = column_of(sample, format.columns[role]);
    for (const Candidate& other : kDelimiters) {
      if (!holds_rows(ids, other.text)) continue;
      refuse(format.file,
             fmt::format("separated by {}, every {} holds another delimiter, as in '{}': write all "
                         "columns with one delimiter, or choose it with {}",
                         format.delimiter.name(), role == kUser ? "user" : "item",
                         printable(ids.front()), mention("delimiter", other.name)));
    }
  }
}

bool has_a_number(const SampleRows& sample) {
  return std::any_of(sample.begin(), sample.end(), [](const auto& row) {
    return std::any_of(row.begin(), row.end(), [](const std::string& field) {
      return std::any_of(field.begin(), field.end(),
                         [](unsigned char letter) { return std::isdigit(letter) != 0; });
    });
  });
}

void refuse_sentences(const FileFormat& format, const SampleRows& sample) {
  if (format.delimiter.kind != Delimiter::kSpaces || has_a_number(sample)) return;
  refuse(format.file,
         fmt::format("'{}' is words between spaces, without a number: is this a file of "
                     "interactions? If users and items are words, say {}",
                     printable(fmt::format("{} {}", sample.front().front(), sample.front().back())),
                     mention("delimiter", "space")));
}

/// The second column of judgements and runs, which says nothing.
bool is_iteration(std::string_view cell) { return cell == "0" || cell == "Q0"; }

bool is_grade(std::string_view cell) {
  const auto number = canonical_integer(cell);
  return number && *number >= -2 && *number <= 10;
}

}  // namespace

void refuse_trec(const FileFormat& format, const SampleRows& sample, const ReadOptions& options) {
  if (!options.columns.empty() || !format.names.empty()) return;
  const auto second = column_of(sample, 1);
  // Rows may be shorter than the format says: they have no such column.
  if (second.size() < 2 || !std::all_of(second.begin(), second.end(), is_iteration)) return;
  const auto grades = column_of(sample, 3);
  const bool judged =
      format.fields == 4 && !grades.empty() && std::all_of(grades.begin(), grades.end(), is_grade);
  const bool run = format.fields == 6 && second.front() == "Q0";
  if (!judged && !run) return;
  refuse(format.file,
         fmt::format("looks like {}: read it with {}",
                     judged ? "judgements of TREC (qrels: query, iteration, document, grade)"
                            : "a run of TREC (query, Q0, document, rank, score, name)",
                     mention("columns", judged ? "1,3,4" : "1,3,5")));
}

void refuse_other_texts(std::string_view text, const std::string& file) {
  if (text.starts_with("version https://git-lfs.github.com/spec/")) {
    refuse(file, "is a pointer of Git LFS, not the data: fetch it with `git lfs pull`",
           ErrorKind::kBadData);
  }
  if (text.size() >= 512 && text.substr(257, 5) == "ustar") {
    refuse(file, "is a tar archive: unpack it with `tar xf FILE`", ErrorKind::kBadData);
  }
  const std::size_t begin = text.find_first_not_of(" \t\r\n");
  if (begin == std::string_view::npos) return;
  const std::string_view rest = text.substr(begin);
  const bool tag =
      rest.size() > 1 && rest[0] == '<' &&
      (std::isalpha(static_cast<unsigned char>(rest[1])) != 0 || rest[1] == '!' || rest[1] == '?');
  if (tag) {
    refuse(file,
           fmt::format("is HTML or XML ('{}'), as a server sends in place of a file: download it "
                       "again",
                       printable(rest.substr(0, std::min<std::size_t>(rest.find('\n'), 60)))),
           ErrorKind::kBadData);
  }
}

void refuse_other_lines(const std::vector<std::string_view>& lines, const std::string& file,
                        const ReadOptions& options) {
  if (is_netflix_start(lines.front())) {
    refuse(file, fmt::format("has blocks of '{}' above rows of user,rating,date, as Netflix' "
                             "data: read it with {}",
                             printable(lines.front()), mention("format", "netflix")));
  }
  if (is_kdd_start(lines.front()) && lines.size() > 1 &&
      lines[1].find('\t') != std::string_view::npos) {
    refuse(file, fmt::format("has blocks of '{}' above rows of item, score, day and time, as the "
                             "KDD Cup's data: read it with {}",
                             printable(lines.front()), mention("format", "kdd-cup")));
  }
  if (options.delimiter.empty() && std::all_of(lines.begin(), lines.end(), is_feature_row)) {
    refuse(file,
           "is libsvm or libffm, where a row is a number and its features, not a user and an item: "
           "write a row of user, item and value for each pair",
           ErrorKind::kBadData);
  }
}

void refuse_doubtful_table(const FileFormat& format, const SampleRows& sample,
                           const std::vector<std::string_view>& lines, const ReadOptions& options) {
  if (sample.empty() || !options.columns.empty() || !options.delimiter.empty()) return;
  if (!is_named(format, kUser) || !is_named(format, kItem)) {
    refuse_mixed_delimiters(format, rows_without_quotes(lines, format.delimiter));
  }
  if (format.names.empty()) refuse_sentences(format, sample);
}

}  // namespace likewise
