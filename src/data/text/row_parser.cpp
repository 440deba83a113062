// SPDX-License-Identifier: Apache-2.0
#include "data/text/row_parser.h"

#include <algorithm>
#include <cstring>

#include <fmt/format.h>

#include "data/text/numbers.h"
#include "data/text/times.h"
#include "data/text/words.h"
#include "likewise/error.h"

namespace likewise {

std::string long_line_text(const FileFormat& format, std::size_t most) {
  const std::string longer = fmt::format("the line is longer than {} bytes", most);
  return format.adjacency ? longer + ", more than fit into the memory that is available"
                          : longer + ": is this a file of interactions?";
}

namespace {

/// What to say of "1e39", of "3,5", and of "3.5" where a comma was asked for.
std::string number_remedy(std::string_view cell, const FileFormat& format) {
  if (format.decimal_comma) return value_of(cell, {}) ? " with a decimal comma" : "";
  if (has_form_of_number(cell)) return fmt::format(" of 32 bits ({})", kValueSizes);
  const bool comma = cell.find(',') != std::string_view::npos && value_of(cell, {}, true);
  return comma ? fmt::format("; with a decimal comma read it with {}", mention("decimal", ","))
               : "";
}

}  // namespace

template <class Row>
RowParser<Row>::RowParser(const FileFormat& format, std::size_t max_line_bytes)
    : format_(format), max_line_bytes_(max_line_bytes) {
  int last = 0;
  for (int role = 0; role < kRoles; ++role) {
    last = std::max(last, format.columns[static_cast<std::size_t>(role)]);
  }
  role_of_.assign(static_cast<std::size_t>(last) + 1, -1);
  for (int role = 0; role < kRoles; ++role) {
    const int column = format.columns[static_cast<std::size_t>(role)];
    if (column < 0) continue;
    role_of_[static_cast<std::size_t>(column)] = static_cast<signed char>(role);
  }
}

template <class Row>
BlockReport RowParser<Row>::parse(std::string_view text, bool stop_at_bad) {
  BlockReport report;
  rows_.clear();
  if (const auto zero = text.find('\0'); zero != std::string_view::npos) {
    report.bad_line = 1 + std::count(text.begin(), text.begin() + static_cast<Offset>(zero), '\n');
    report.fault = "the file is not text (it holds a zero byte)";
    report.fatal = true;
    return report;
  }
  LineReader lines(text, format_.delimiter);
  std::string_view line;
  while (lines.next(line)) {
    if (is_blank_line(line)) continue;
    const bool too_long = line.size() > max_line_bytes_;
    const std::size_t before = rows_.size();
    const Fault fault = too_long ? Fault::kNone : parse_line(line);
    const bool good = fault == Fault::kNone && !too_long;
    report.rows += format_.adjacency && good ? static_cast<Offset>(rows_.size() - before) : 1;
    if (good) continue;
    if (report.bad_rows++ == 0 || too_long) {
      report.bad_line = lines.first_line();
      report.bad_row = report.rows;
      report.fault = too_long ? long_line_text(format_, max_line_bytes_) : describe(fault, line);
      report.fatal = too_long;
    }
    if (stop_at_bad || too_long) break;
  }
  report.lines = lines.lines();
  return report;
}

template <class Row>
auto RowParser<Row>::split(std::string_view line) -> Fault {
  FieldCursor cursor(line, format_.delimiter);
  for (const signed char role : role_of_) {
    // Fields of no interest share the last scratch.
    const auto slot = static_cast<std::size_t>(role < 0 ? static_cast<int>(kRoles) : role);
    std::string_view field;
    const LineFault fault = cursor.next(field, unescaped_[slot]);
    if (fault == LineFault::kNoField) return Fault::kTooFewFields;
    if (fault != LineFault::kNone) return fault_of(fault);
    if (role >= 0) fields_[slot] = field;
  }
  return cursor.ended() ? Fault::kNone : check_end(cursor);
}

template <class Row>
auto RowParser<Row>::check_end(FieldCursor& cursor) -> Fault {
  std::string_view field;
  std::size_t count = role_of_.size();
  while (true) {
    const LineFault fault = cursor.next(field, unescaped_[kRoles]);
    if (fault == LineFault::kNoField) return Fault::kNone;
    if (fault != LineFault::kNone) return fault_of(fault);
    if (++count > format_.fields) return Fault::kTooManyFields;
  }
}

template <class Row>
auto RowParser<Row>::fault_of(LineFault fault) -> Fault {
  return fault == LineFault::kUnclosedQuote ? Fault::kUnclosedQuote : Fault::kTextAfterQuote;
}

template <class Row>
auto RowParser<Row>::parse_value_and_time(Row& row) -> Fault {
  row.value = 1.0F;
  if (format_.has(kValue)) {
    const auto value = value_of(fields_[kValue], format_.words, format_.decimal_comma);
    if (!value) return Fault::kNotANumber;
    row.value = *value;
  }
  if (!format_.has(kTime)) return Fault::kNone;
  const auto time = parse_time(fields_[kTime], format_.time_format);
  if (!time) return Fault::kNotATime;
  row.set_time(time->time);
  time_forms_ |= bit_of(time->form);
  return Fault::kNone;
}

template <class Row>
auto RowParser<Row>::add_list(std::string_view line) -> Fault {
  std::string_view field;
  LineFault fault = LineFault::kNone;
  FieldCursor check(line, format_.delimiter);
  for (bad_role_ = kUser; (fault = check.next(field, unescaped_[0])) != LineFault::kNoField;
       bad_role_ = kItem) {
    if (fault != LineFault::kNone) return fault_of(fault);
    if (field.empty()) return Fault::kNoId;
  }
  FieldCursor cursor(line, format_.delimiter);
  (void)cursor.next(fields_[kUser], unescaped_[kUser]);
  if (cursor.ended()) return Fault::kNone;  // a user without items is not among the users
  Row row;
  row.value = 1.0F;
  row.set_time(Time(0));
  row.user = users_.code(fields_[kUser]);
  while (cursor.next(field, unescaped_[kItem]) == LineFault::kNone) {
    row.item = items_.code(field);
    rows_.push_back(row);
  }
  return Fault::kNone;
}

template <class Row>
auto RowParser<Row>::parse_line(std::string_view line) -> Fault {
  if (format_.adjacency) return add_list(line);
  if (const Fault fault = split(line); fault != Fault::kNone) return fault;
  for (const Role role : {kUser, kItem}) {
    bad_role_ = role;
    if (fields_[role].empty()) return Fault::kNoId;
  }
  // The ids enter the tables last: those of bad rows are not among the users and items.
  Row row;
  if (const Fault fault = parse_value_and_time(row); fault != Fault::kNone) return fault;
  if (format_.matrix.present) return add_matrix_row(row);
  row.user = users_.code(fields_[kUser]);
  row.item = items_.code(fields_[kItem]);
  rows_.push_back(row);
  return Fault::kNone;
}

template <class Row>
auto RowParser<Row>::add_matrix_row(Row& row) -> Fault {
  const Offset sizes[2] = {format_.matrix.rows, format_.matrix.cols};
  for (const Role role : {kUser, kItem}) {
    const auto index = canonical_integer(fields_[role]);
    bad_role_ = role;
    if (!index || *index < 1 || *index > sizes[role]) return Fault::kNotInMatrix;
  }
  row.user = users_.code(fields_[kUser]);
  row.item = items_.code(fields_[kItem]);
  rows_.push_back(row);
  if (format_.matrix.symmetric && fields_[kUser] != fields_[kItem]) {
    row.user = users_.code(fields_[kItem]);
    row.item = items_.code(fields_[kUser]);
    rows_.push_back(row);
  }
  return Fault::kNone;
}

template <class Row>
std::size_t RowParser<Row>::count_fields(std::string_view line) const {
  std::vector<std::string> fields;
  (void)split_line(line, format_.delimiter, fields);
  return fields.size();
}

template <class Row>
std::string RowParser<Row>::describe(Fault fault, std::string_view line) const {
  switch (fault) {
    case Fault::kNone:
      break;
    case Fault::kTooFewFields:
      return fmt::format("'{}' has {} of the {} columns needed (separated by {})", printable(line),
                         count_fields(line), role_of_.size(), format_.delimiter.name());
    case Fault::kTooManyFields:
      return fmt::format("'{}' has {} columns (separated by {}), {} {}", printable(line),
                         count_fields(line), format_.delimiter.name(),
                         format_.matrix.present  ? "a row of this matrix"
                         : format_.names.empty() ? "most rows have"
                                                 : "the header",
                         format_.fields);
    case Fault::kUnclosedQuote:
      return fmt::format(
          "a quoted field does not end, or not within {} bytes (write a quote inside quotes "
          "twice): "
          "'{}'",
          kMostQuotedBytes, printable(line));
    case Fault::kTextAfterQuote:
      return text_after_quote(line);
    case Fault::kNoId:
      if (format_.adjacency) {
        return fmt::format("a{} id is empty (ids are separated by {})",
                           bad_role_ == kUser ? " user" : "n item", format_.delimiter.name());
      }
      return fmt::format("the {} id, {}, is empty", bad_role_ == kUser ? "user" : "item",
                         format_.column_name(bad_role_));
    case Fault::kNotANumber:
      if (!format_.words.empty()) {
        return fmt::format("the value '{}', {}, has no number in {}", printable(fields_[kValue]),
                           format_.column_name(kValue), mention("values"));
      }
      return fmt::format("the value '{}', {}, is not a finite number{}", printable(fields_[kValue]),
                         format_.column_name(kValue), number_remedy(fields_[kValue], format_));
    case Fault::kNotATime:
      if (!format_.time_format.empty()) {
        return fmt::format("the time '{}', {}, is not as {} says", printable(fields_[kTime]),
                           format_.column_name(kTime), mention("time_format", format_.time_format));
      }
      return fmt::format(
          "the time '{}', {}, is neither a number of seconds nor an ISO 8601 date; say how it is "
          "written, as {}",
          printable(fields_[kTime]), format_.column_name(kTime),
          mention("time_format", "%m/%d/%Y"));
    case Fault::kNotInMatrix:
      return fmt::format("{} '{}' is not a number from 1 to {}",
                         bad_role_ == kUser ? "row" : "column", printable(fields_[bad_role_]),
                         bad_role_ == kUser ? format_.matrix.rows : format_.matrix.cols);
  }
  return {};
}

template class RowParser<PlainRow>;
template class RowParser<TimedRow>;

}  // namespace likewise
