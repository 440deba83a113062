// SPDX-License-Identifier: Apache-2.0
/// Turns a block of text into rows.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

#include "data/text/fields.h"
#include "data/text/format.h"
#include "data/text/id_table.h"
#include "data/text/rows.h"

namespace likewise {

/// What parsing a block met, besides the rows.
struct BlockReport {
  Offset number = 0;
  Offset lines = 0;
  Offset rows = 0;  ///< lines with data, bad ones too; of adjacency pairs and bad lines
  Offset bad_rows = 0;
  Offset bad_line = 0;  ///< the first bad one, counted from 1 in the block
  Offset bad_row = 0;   ///< the same among the lines with data
  std::string fault;    ///< what is wrong with it; empty: nothing
  bool fatal = false;   ///< not a matter of one row
};

/// What is wrong with a line that has more bytes than it may.
[[nodiscard]] std::string long_line_text(const FileFormat& format, std::size_t most);

/// One thread's parser. The tables collect the ids of all blocks that the thread was given.
template <class Row>
class RowParser {
 public:
  RowParser(const FileFormat& format, std::size_t max_line_bytes);

  /// Parses whole lines into rows(). With `stop_at_bad` it ends at the first bad row.
  BlockReport parse(std::string_view text, bool stop_at_bad);

  /// How times were written so far.
  [[nodiscard]] TimeForms time_forms() const { return time_forms_; }

  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  [[nodiscard]] Offset id_bytes() const {
    return static_cast<Offset>(users_.bytes() + items_.bytes());
  }
  [[nodiscard]] IdTable& users() { return users_; }
  [[nodiscard]] IdTable& items() { return items_; }

 private:
  enum class Fault : std::uint8_t {
    kNone,
    kTooFewFields,
    kTooManyFields,
    kUnclosedQuote,
    kTextAfterQuote,
    kNoId,
    kNotANumber,
    kNotATime,
    kNotInMatrix
  };
  Fault parse_line(std::string_view line);
  Fault split(std::string_view line);
  /// Reads on behind the last column that is needed.
  Fault check_end(FieldCursor& cursor);
  Fault parse_value_and_time(Row& row);
  Fault add_matrix_row(Row& row);
  /// The pairs of a user and its items.
  Fault add_list(std::string_view line);
  [[nodiscard]] static Fault fault_of(LineFault fault);
  [[nodiscard]] std::size_t count_fields(std::string_view line) const;
  [[nodiscard]] std::string describe(Fault fault, std::string_view line) const;

  const FileFormat& format_;
  std::size_t max_line_bytes_;
  std::vector<signed char> role_of_;  ///< by column, as far as needed: a Role or -1
  std::array<std::string_view, kRoles> fields_;
  std::array<std::string, kRoles + 1> unescaped_;
  Role bad_role_ = kUser;
  TimeForms time_forms_ = 0;
  std::vector<Row> rows_;
  IdTable users_;
  IdTable items_;
};

extern template class RowParser<PlainRow>;
extern template class RowParser<TimedRow>;

}  // namespace likewise
