// SPDX-License-Identifier: Apache-2.0
#include "data/text/reading_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "core/system/memory.h"
#include "likewise/error.h"

namespace likewise {

Offset expected_rows(const RowsSoFar& seen) {
  if (seen.total <= seen.consumed || seen.consumed <= 0) return seen.rows;
  const double rest = static_cast<double>(seen.total) / static_cast<double>(seen.consumed) - 1.0;
  return seen.rows + static_cast<Offset>(static_cast<double>(seen.rows) * rest / 2);
}

void check_reading_plan(const RowsSoFar& seen, const std::string& file, std::uint64_t pages,
                        std::uint64_t addresses) {
  const Offset rows = expected_rows(seen);
  // Rows that are not there yet, and the ids once more, in order. What then becomes of the rows
  // fills as much as it gives back, but whoever asked for them makes something of the result's size
  // from it: the other orientation, or parts. Dealing out reserves room for all rows at once.
  const Offset to_come = (rows - seen.rows) * seen.row_bytes + seen.id_bytes;
  const auto to_fill = static_cast<std::uint64_t>(to_come + rows * seen.result_bytes);
  const auto to_reserve = static_cast<std::uint64_t>(to_come + rows * seen.row_bytes);
  if (to_fill <= pages && to_reserve <= addresses) return;
  const bool filled = to_fill > pages;
  const auto text = [](std::uint64_t bytes) { return size_text(static_cast<double>(bytes)); };
  throw Error(
      ErrorKind::kOutOfMemory,
      fmt::format("{}: needs at least {} more memory to be read ({} rows so far, {} or more "
                  "expected), {} are available",
                  file, text(filled ? to_fill : to_reserve), seen.rows, rows,
                  text(filled ? pages : addresses)));
}

}  // namespace likewise
