// SPDX-License-Identifier: Apache-2.0
#include "likewise/make_interactions.h"

#include <utility>

#include <fmt/format.h>

#include "core/memory_plan.h"
#include "data/memory/stage_columns.h"
#include "data/read/assemble.h"
#include "data/read/filter.h"
#include "data/write/naming.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr const char* kName = "interactions in memory";

[[noreturn]] void refuse(const std::string& why) {
  throw Error(ErrorKind::kInvalidArgument, fmt::format("{}: {}", kName, why));
}

/// Options that say how a text is read.
void refuse_options_of_files(const ReadOptions& options) {
  const char* idle = !options.columns.empty()            ? "columns"
                     : options.format != Format::kAuto   ? "format"
                     : !options.delimiter.empty()        ? "delimiter"
                     : options.header != Header::kAuto   ? "header"
                     : options.keep_times                ? "keep_times"
                     : options.values == Values::kUnused ? "values = unused"
                                                         : nullptr;
  if (idle == nullptr) return;
  refuse(
      fmt::format("{} is an option of files: leave it out, and values or times that are not wanted "
                  "as well",
                  idle));
}

Offset size_of(const ValueSpan& values) {
  return std::visit([](auto some) { return Offset{std::ssize(some)}; }, values);
}

/// The values that columns of `rows` rows have; none: empty.
void check_lengths(Offset rows, const ValueSpan& values, const TimeColumn& times,
                   const char* others) {
  const auto check = [&](Offset size, const char* what) {
    if (size == 0 || size == rows) return;
    refuse(fmt::format("there are {} {} for {} {}", size, what, rows, others));
  };
  check(size_of(values), "values");
  check(std::ssize(times.numbers), "times");
  if (times.unit == TimeForm::kDate || times.unit == TimeForm::kDateTime) {
    refuse("times are numbers: their unit is seconds or a part of it");
  }
}

void check_rows(const ReadSummary& summary) {
  if (summary.rows > summary.bad_rows) return;
  throw Error(ErrorKind::kBadData, fmt::format("{}: all {} rows are bad; the first one: {}", kName,
                                               summary.rows, summary.first_bad_row));
}

/// Rows or columns that are made whether interactions have them or not.
[[nodiscard]] Offset given_count(const IdColumn& ids) {
  const auto* numbers = std::get_if<IndexColumn>(&ids);
  return numbers == nullptr ? 0 : numbers->count;
}

template <class Row>
Interactions make_rows(const RowColumns& columns, const ReadOptions& options, ReadSummary& summary,
                       const RunControl& control) {
  constexpr double kBytes = 2 * sizeof(Index) + sizeof(Row) + (Row::kTimed ? sizeof(Time) : 0);
  constexpr double kBytesOfAnId = 3 * sizeof(Offset);  // the id, and two matrices' offsets
  const Offset ids =
      given_count(columns.items) + (std::holds_alternative<IdColumn>(columns.users)
                                        ? given_count(std::get<IdColumn>(columns.users))
                                        : Offset{0});
  check_memory_plan(
      fmt::format("{}: {} rows, {} users and items", kName, columns.rows, ids),
      static_cast<double>(columns.rows) * kBytes + static_cast<double>(ids) * kBytesOfAnId);
  Staged<Row> staged = stage_columns<Row>(columns, options.on_bad_row, kName, summary, control);
  check_rows(summary);
  return assemble<Row>(std::move(staged), summary.policy, kName, summary, control);
}

/// Columns whose lengths have been checked.
Interactions make(const RowColumns& columns, const ReadOptions& options, ReadSummary* summary,
                  const RunControl& control) {
  const bool has_values = size_of(columns.values) > 0;
  const bool timed = !columns.times.numbers.empty();
  if (columns.rows == 0) throw Error(ErrorKind::kBadData, fmt::format("{}: no rows", kName));
  if (options.values == Values::kRequired && !has_values) {
    refuse("values are needed (for explicit feedback, RMSE or MAE)");
  }
  ReadSummary met;
  met.format = "memory";
  met.columns = {"users", "items", has_values ? "values" : "", timed ? "times" : ""};
  met.policy = options.duplicates;
  if (met.policy == Duplicates::kAuto)
    met.policy = has_values ? Duplicates::kLast : Duplicates::kSum;
  return naming_the_file(kName, [&] {
    Interactions data = timed ? make_rows<TimedRow>(columns, options, met, control)
                              : make_rows<PlainRow>(columns, options, met, control);
    data = filter(std::move(data), options, kName, met);
    if (summary != nullptr) *summary = std::move(met);
    return data;
  });
}

}  // namespace

Interactions make_interactions(const IdColumn& users, const IdColumn& items,
                               const ValueSpan& values, const TimeColumn& times,
                               const ReadOptions& options, ReadSummary* summary,
                               const RunControl& control) {
  refuse_options_of_files(options);
  check_filters(options);
  const Offset rows = count_rows(users, "users");
  const Offset others = count_rows(items, "items");
  if (rows != others) refuse(fmt::format("there are {} users for {} items", rows, others));
  check_lengths(rows, values, times, "users and items");
  return make({users, items, values, times, rows}, options, summary, control);
}

Interactions make_interactions(const CsrColumns& rows, const ValueSpan& values,
                               const TimeColumn& times, const ReadOptions& options,
                               ReadSummary* summary, const RunControl& control) {
  refuse_options_of_files(options);
  check_filters(options);
  const IdColumn items = IndexColumn{rows.columns, rows.cols};
  const Offset count = count_rows(items, "columns");
  check_row_offsets(rows.offsets, count);
  check_lengths(count, values, times, "columns");
  return make({RowsOfCsr{rows.offsets}, items, values, times, count}, options, summary, control);
}

}  // namespace likewise
