// SPDX-License-Identifier: Apache-2.0
/// What a file of interactions looks like, found out from its first lines and the caller's options.
#pragma once

#include <array>
#include <functional>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "data/text/fields.h"
#include "likewise/read.h"
#include "likewise/types.h"

namespace likewise {

/// What some programs begin a text of UTF-8 with.
inline constexpr std::string_view kByteOrderMark = "\xef\xbb\xbf";

/// What a column means; also its place in FileFormat::columns.
enum Role { kUser, kItem, kValue, kTime, kRoles };

/// The shape and kind that a Matrix Market file declares.
struct MatrixMarket {
  bool present = false;
  bool symmetric = false;
  Offset rows = 0;
  Offset cols = 0;
  Offset entries = 0;
};

/// "943 1682 80000": users, items and rows, as some files begin. Or an interaction.
struct CountsLine {
  Offset users = 0;
  Offset items = 0;
  Offset rows = 0;
  bool like_a_row = false;  ///< it has as many fields as the rows
  double largest = 0.0;     ///< in the third column of the first rows; infinite: not all numbers
  std::string text;
};

struct FileFormat {
  std::string file;  ///< for messages
  Delimiter delimiter;
  std::vector<std::string> names;                   ///< the header's, empty without one
  std::array<int, kRoles> columns{-1, -1, -1, -1};  ///< from 0, by Role; -1: not there
  std::size_t fields = 0;  ///< of the header, or of most of the first lines; no row may have more
  std::optional<CountsLine> counts;  ///< the line before the data, where it may hold counts
  bool adjacency = false;            ///< a line is a user and its items
  std::vector<std::pair<std::string, float>> words;  ///< what cells of the value column stand for
  bool decimal_comma = false;                        ///< in values
  std::string time_format;                           ///< of strptime(); empty: numbers and ISO 8601
  bool first_rows_bad = false;                       ///< not one of the first rows can be read
  MatrixMarket matrix;
  std::size_t data_begin = 0;  ///< bytes before the first line of data
  Offset lines_before = 0;     ///< lines before it
  bool counts_rows = false;    ///< messages number rows, as the file has no lines
  std::string description;     ///< for people

  [[nodiscard]] bool has(Role role) const { return columns[role] >= 0; }
  /// "column 3 (rating)"
  [[nodiscard]] std::string column_name(Role role) const;
  /// "ratings.csv:17", or "ratings.parquet: row 17" where rows count, both from 1.
  [[nodiscard]] std::string place(Offset number) const;
};

/// Throws for the first of these options that the caller gave: what the file is has no use for it.
void refuse_given(const std::string& file, const ReadOptions& options,
                  std::initializer_list<std::string_view> idle, const std::string& kind);

/// The first bytes of a file, at least its first line.
struct FileHead {
  std::string_view text;
  bool whole = false;  ///< nothing follows
};

/// Errors: kBadData (not text, broken header, nothing in it), kInvalidArgument (options that do not
/// fit; the message lists the columns there are).
[[nodiscard]] FileFormat detect_format(const FileHead& head, const std::string& file,
                                       const ReadOptions& options);

/// How many lines are looked at.
constexpr std::size_t kSampleLines = 100;

/// The fields of the first rows of data.
using SampleRows = std::vector<std::vector<std::string>>;

/// The first rows by a delimiter: its quoted fields may hold line ends.
using LinesBy = std::function<std::vector<std::string_view>(Delimiter)>;

/// The first lines of a text and how they are cut into fields.
struct TableStart {
  Delimiter delimiter;
  SampleRows rows;
};
/// `delimiter` is the caller's option, "" where it is to be detected. `expected` says in the error
/// what rows should hold. Throws kBadData, kInvalidArgument.
[[nodiscard]] TableStart find_fields(const LinesBy& lines, const std::string& delimiter,
                                     const std::string& file, const char* expected);
/// The number of fields that most rows have; of several such numbers the largest.
[[nodiscard]] std::size_t usual_fields(const SampleRows& rows);
/// A header has no numbers, and either well-known names or a column of numbers below it.
[[nodiscard]] bool looks_like_header(const SampleRows& rows, bool known_names);
/// Whether the caller named one of the columns, and did not number it.
[[nodiscard]] bool names_a_column(const std::vector<std::string>& columns);
/// Delimiter and header for people; `counts`: the first line is counts.
[[nodiscard]] std::string describe(const FileFormat& format, bool counts = false);

/// True if `text` begins a Matrix Market file.
[[nodiscard]] bool is_matrix_market(std::string_view text);
/// Reads its banner, comments and size line.
[[nodiscard]] FileFormat read_matrix_market_head(const FileHead& head, const std::string& file);

/// Finds the columns by the caller's option, by the header's names, or in their order; what would
/// be a guess is an error. `format` has its names and number of fields.
void choose_columns(FileFormat& format, const ReadOptions& options, const SampleRows& sample);
/// Throws where values are required and there is no column of them.
void check_values(const FileFormat& format, const ReadOptions& options);
/// True if a name is among the well-known names of a role ("userId" is one of kUser).
[[nodiscard]] bool is_known_name(Role role, std::string_view name);
/// A column's name as it is compared with well-known ones: "User-ID" and "userId" are "userid".
[[nodiscard]] std::string normalised(std::string_view name);
/// The column that the caller named or numbered from 1; throws kInvalidArgument where there is
/// none.
[[nodiscard]] int find_column(const FileFormat& format, const std::string& wanted);
/// The columns' names, for a message.
[[nodiscard]] std::string listing(const std::vector<std::string>& names);

/// Walks over the lines of a text; line ends (LF, CRLF) are not part of them. With a delimiter over
/// its rows, whose quoted fields may hold line ends.
class LineReader {
 public:
  explicit LineReader(std::string_view text) : rest_(text) {}
  LineReader(std::string_view text, Delimiter delimiter)
      : rest_(text), delimiter_(delimiter), quoted_(text.find('"') != std::string_view::npos) {}
  bool next(std::string_view& line);
  [[nodiscard]] std::size_t position(std::string_view whole) const {
    return whole.size() - rest_.size();
  }
  /// Lines so far, and the one on which the last row began.
  [[nodiscard]] Offset lines() const { return lines_; }
  [[nodiscard]] Offset first_line() const { return first_line_; }

 private:
  std::string_view rest_;
  Delimiter delimiter_;
  bool quoted_ = false;
  Offset lines_ = 0;
  Offset first_line_ = 0;
};

[[nodiscard]] bool is_blank_line(std::string_view line);
/// "# made by ...", "%% bip weighted", "#": no row, and no header, before the first of these.
[[nodiscard]] bool is_comment(std::string_view line);

/// The first lines that `reader` of the head has and that are not blank. A last line that may be
/// cut off is left out, unless it is the only one.
[[nodiscard]] std::vector<std::string_view> sample_lines(const FileHead& head, LineReader reader);

}  // namespace likewise
