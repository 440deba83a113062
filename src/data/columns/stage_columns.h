// SPDX-License-Identifier: Apache-2.0
/// The first half of making interactions of columns in memory: columns to rows, on all threads.
/// What stage_rows is for files.
#pragma once

#include <variant>

#include "data/text/rows.h"
#include "likewise/control.h"
#include "likewise/make_interactions.h"

namespace likewise {

/// The row numbers of a CsrColumns, which are not written down: row r has the entries
/// [offsets[r], offsets[r + 1]).
struct RowsOfCsr {
  IntegerSpan offsets;
};
using UserColumn = std::variant<IdColumn, RowsOfCsr>;

/// Columns of the same length, whose offsets have been checked.
struct RowColumns {
  UserColumn users;
  IdColumn items;
  ValueSpan values;
  TimeColumn times;
  Offset rows = 0;
};

/// How many ids a column has. Throws kInvalidArgument where its offsets are broken; `what` names
/// the column.
[[nodiscard]] Offset count_rows(const IdColumn& column, const char* what);
/// Throws kInvalidArgument unless offsets begin at 0, do not fall, and end at `end`.
void check_row_offsets(const IntegerSpan& offsets, Offset end);

/// Fills rows, bad_rows and first_bad_row of `summary`; with kFail the first bad row is kBadData.
/// `name` is for messages. Blocks of `block_rows` are what threads take.
template <class Row>
[[nodiscard]] Staged<Row> stage_columns(const RowColumns& columns, BadRows on_bad_row,
                                        const char* name, ReadSummary& summary,
                                        const RunControl& control, Offset block_rows = 1 << 16);

extern template Staged<PlainRow> stage_columns(const RowColumns&, BadRows, const char*,
                                               ReadSummary&, const RunControl&, Offset);
extern template Staged<TimedRow> stage_columns(const RowColumns&, BadRows, const char*,
                                               ReadSummary&, const RunControl&, Offset);

}  // namespace likewise
