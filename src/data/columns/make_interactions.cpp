// SPDX-License-Identifier: Apache-2.0
#include "likewise/make_interactions.h"

#include <algorithm>
#include <cstdlib>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "data/columns/key_table.h"
#include "data/columns/stage_columns.h"
#include "data/text/assemble.h"
#include "data/text/filter.h"
#include "data/text/id_table.h"
#include "data/text/merge_rows.h"
#include "data/text/times.h"
#include "data/text/weigh_rows.h"
#include "data/text/words.h"
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
                     : !options.word_values.empty()      ? "word_values"
                     : options.decimal != "."            ? "decimal"
                     : !options.time_format.empty()      ? "time_format"
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

[[nodiscard]] bool holds_text(const IdColumn& ids) {
  const auto* encoded = std::get_if<EncodedColumn>(&ids);
  return encoded != nullptr ? !std::holds_alternative<std::span<const std::int64_t>>(encoded->keys)
                            : std::holds_alternative<std::span<const std::string_view>>(ids) ||
                                  std::holds_alternative<TextColumn>(ids);
}

/// Text that spells whole numbers is in their order, and stays text.
void keep_text(IdMap& ids, const IdColumn& given) {
  if (ids.is_integer() && holds_text(given)) ids = as_text(ids);
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
  weigh_rows<Row>(staged, options, kName, summary);
  Interactions made = assemble<Row>(std::move(staged), summary.policy, kName, summary, control);
  if (options.whole_ids) return made;
  if (const auto* users = std::get_if<IdColumn>(&columns.users)) keep_text(made.users, *users);
  keep_text(made.items, columns.items);
  return made;
}

[[noreturn]] void refuse_date_of_digits(const std::string& first, const std::string& as_seconds) {
  refuse(fmt::format("the times are dates without separators ({}): {}", first,
                     remedy_for_digits(first, as_seconds)));
}

/// Of numbers whose unit nobody named, missing ones left out.
void refuse_dates_of_digits(const TimeColumn& times) {
  if (times.unit) return;
  std::string first;
  for (const std::int64_t number : times.numbers) {
    if (number == std::numeric_limits<std::int64_t>::min()) continue;
    const std::string text = std::to_string(number);
    if (format_of_digits(text).empty()) return;
    if (first.empty()) first = text;
  }
  if (!first.empty()) refuse_date_of_digits(first, mention("time_unit", "s"));
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
  refuse_dates_of_digits(columns.times);
  ReadSummary met;
  met.format = "memory";
  met.columns = {"users", "items", has_values ? "values" : "", timed ? "times" : ""};
  met.policy = chosen_policy(options.duplicates, has_values, timed);
  check_weighing(options, met.policy, timed ? "" : no_column_of_times(), kName);
  return naming_the_file(kName, [&] {
    Interactions data = timed ? make_rows<TimedRow>(columns, options, met, control)
                              : make_rows<PlainRow>(columns, options, met, control);
    data = filter(std::move(data), options, kName, met);
    if (summary != nullptr) *summary = std::move(met);
    return data;
  });
}

/// The key of a row; nothing where it is missing, or a number.
std::string_view encoded_text(const EncodedColumn& column, Offset row) {
  const auto code = std::visit(
      [&](auto codes) { return static_cast<Offset>(codes[static_cast<std::size_t>(row)]); },
      column.codes);
  if (code < 0 || code >= count_keys(column)) return {};
  if (const auto* text = std::get_if<TextColumn>(&column.keys)) return text_of(*text, code);
  const auto* views = std::get_if<std::span<const std::string_view>>(&column.keys);
  return views == nullptr ? std::string_view() : (*views)[static_cast<std::size_t>(code)];
}

/// Calls visit(row, text) for a column of text; nothing where one is missing.
template <class Visit>
void for_each_text(const IdColumn& column, const Visit& visit) {
  const Offset rows = count_rows(column, "text");
  const bool numbers = std::holds_alternative<std::span<const std::int64_t>>(column) ||
                       std::holds_alternative<IndexColumn>(column);
  if (numbers && rows > 0) refuse("a column of text is needed");
  for (Offset row = 0; row < rows; ++row) visit(row, text_at(column, row));
}

/// Of texts, those that are empty left out.
void refuse_dates_of_digits(const IdColumn& texts) {
  std::string first;
  bool all = true;
  for_each_text(texts, [&](Offset, std::string_view text) {
    all = all && (text.empty() || !format_of_digits(text).empty());
    if (first.empty()) first = text;
  });
  if (all && !first.empty()) refuse_date_of_digits(first, mention("time_format", "%s"));
}

[[nodiscard]] WrittenTimes in_one_unit(const std::vector<std::optional<ParsedTime>>& times) {
  constexpr std::int64_t kMissing = std::numeric_limits<std::int64_t>::min();
  constexpr std::int64_t kMostSeconds = 9'000'000'000;  // of the years that 64 bits of ns hold
  const bool fine = std::ranges::all_of(times, [](const std::optional<ParsedTime>& parsed) {
    return !parsed || std::abs(parsed->time.seconds()) < kMostSeconds;
  });
  const std::int64_t per_second = fine ? 1'000'000'000 : 1'000'000;
  WrittenTimes written{{}, fine ? TimeForm::kNanoseconds : TimeForm::kMicroseconds};
  written.numbers.reserve(times.size());
  for (const auto& parsed : times) {
    written.numbers.push_back(parsed ? parsed->time.seconds() * per_second +
                                           parsed->time.nanoseconds() / (1'000'000'000 / per_second)
                                     : kMissing);
  }
  return written;
}

}  // namespace

std::string_view text_at(const IdColumn& column, Offset row) {
  if (const auto* views = std::get_if<std::span<const std::string_view>>(&column)) {
    return (*views)[static_cast<std::size_t>(row)];
  }
  if (const auto* text = std::get_if<TextColumn>(&column)) return text_of(*text, row);
  const auto* encoded = std::get_if<EncodedColumn>(&column);
  return encoded == nullptr ? std::string_view() : encoded_text(*encoded, row);
}

std::vector<float> values_of_words(const IdColumn& words, const ReadOptions& options,
                                   std::string_view name) {
  constexpr std::size_t kMostCells = 1000;
  const Words known = checked_words(options);
  std::vector<float> values;
  std::vector<std::string> unknown;
  Offset explained = 0;
  for_each_text(words, [&](Offset, std::string_view cell) {
    const auto value = value_of(cell, known, options.decimal == ",");
    explained += value ? 1 : 0;
    if (!value && is_word(cell) && unknown.size() < kMostCells) unknown.emplace_back(cell);
    values.push_back(value.value_or(std::numeric_limits<float>::quiet_NaN()));
  });
  if (!unknown.empty() && (options.on_bad_row == BadRows::kFail || explained == 0)) {
    refuse(fmt::format("column {} holds words without a number, {}", printable(name),
                       words_to_explain(unknown)));
  }
  return values;
}

WrittenTimes times_of_text(const IdColumn& texts, const std::string& time_format) {
  check_time_format(time_format);
  if (time_format.empty()) refuse_dates_of_digits(texts);
  std::vector<std::optional<ParsedTime>> times;
  for_each_text(texts, [&](Offset, std::string_view text) {
    times.push_back(parse_time(text, time_format));
  });
  return in_one_unit(times);
}

WrittenTimes times_of_numbers(std::span<const double> numbers, std::optional<TimeForm> unit) {
  std::vector<std::optional<ParsedTime>> times;
  times.reserve(numbers.size());
  for (const double number : numbers) times.push_back(time_of(number, unit));
  return in_one_unit(times);
}

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
