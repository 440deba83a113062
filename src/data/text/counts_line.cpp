// SPDX-License-Identifier: Apache-2.0
#include "data/text/counts_line.h"

#include <algorithm>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "data/text/numbers.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// How many different ids there are.
Offset different(std::vector<IdTable> tables) {
  if (tables.size() == 1) return tables.front().size();
  return merge_ids(std::move(tables)).map.size();
}

/// The largest value that follows. Where values are not read, that of the first lines.
template <class Row>
double largest_value(const FileFormat& format, const Staged<Row>& staged) {
  if (!format.has(kValue)) return format.counts->largest;
  double largest = -std::numeric_limits<double>::infinity();
  for (const auto& block : staged.blocks) {
    for (const Row& row : block.rows) largest = std::max(largest, double{row.value});
  }
  return largest;
}

}  // namespace

std::optional<CountsLine> possible_counts(std::string_view line, Delimiter delimiter) {
  std::vector<std::string> fields;
  const auto three = [&](Delimiter by) {
    return split_line(line, by, fields) == LineFault::kNone && fields.size() == 3;
  };
  CountsLine counts;
  counts.like_a_row = three(delimiter);
  if (!counts.like_a_row && !three({Delimiter::kSpaces, ' '})) return std::nullopt;
  Offset numbers[3];
  for (std::size_t i = 0; i < 3; ++i) {
    const auto number = canonical_integer(fields[i]);
    if (!number || *number < 1) return std::nullopt;
    numbers[i] = *number;
  }
  const auto [users, items, rows] = numbers;
  constexpr Offset kMost = std::numeric_limits<Index>::max();
  if (users > kMost || items > kMost || rows > users * items) return std::nullopt;
  counts.users = users;
  counts.items = items;
  counts.rows = rows;
  counts.text = line;
  return counts;
}

template <class Row>
bool is_counts(const FileFormat& format, const Staged<Row>& staged, const ReadSummary& summary) {
  const Offset rows = summary.rows;
  const CountsLine& counts = *format.counts;
  const double largest = counts.like_a_row ? largest_value(format, staged) : 0.0;
  const bool out = !counts.like_a_row || largest < static_cast<double>(counts.rows) / 10;
  if (rows < 2 || (!out && rows != counts.rows)) return false;
  const Offset users = different(staged.users.tables);
  const Offset items = different(staged.items.tables);
  const bool agrees = rows == counts.rows && users <= counts.users && items <= counts.items;
  if (agrees == out) return agrees;
  const bool exactly = agrees && users == counts.users && items == counts.items;
  if (exactly && largest < static_cast<double>(counts.rows)) return true;
  if (counts.rows < std::max(counts.users, counts.items)) return false;
  std::string shown = counts.text;
  std::ranges::replace(shown, '\t', ' ');
  throw Error(
      ErrorKind::kBadData,
      fmt::format(
          "{}:{}: '{}' {} ({} users, {} items, {} rows follow{}): correct or delete the line, "
          "or say with {} that it is to be passed over, with {} that it is an interaction",
          format.file, format.lines_before, printable(shown),
          out ? "looks like counts of users, items and rows, but does not agree with the rest"
              : "may be the counts of users, items and rows, or an interaction",
          users, items, rows,
          summary.bad_rows > 0 ? fmt::format(", {} of them bad", summary.bad_rows) : "",
          mention("header", "yes"), mention("header", "no")));
}

template bool is_counts(const FileFormat&, const Staged<PlainRow>&, const ReadSummary&);
template bool is_counts(const FileFormat&, const Staged<TimedRow>&, const ReadSummary&);

}  // namespace likewise
