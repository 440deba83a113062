// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <atomic>
#include <optional>

#include "core/system/parallel.h"
#include "likewise/matrix.h"

namespace likewise {

/// The first of `count` places for which is_bad(place), looked for by all threads; -1 where there
/// is none.
template <class IsBad>
[[nodiscard]] Offset first_bad(Offset count, const IsBad& is_bad) {
  std::atomic<Offset> first{count};
  parallel_blocks(count, 1024, [&](Offset begin, Offset end, Offset) {
    if (begin > first.load(std::memory_order_relaxed)) return;
    for (Offset place = begin; place < end; ++place) {
      if (!is_bad(place)) continue;
      Offset seen = first.load();
      while (place < seen && !first.compare_exchange_weak(seen, place)) {
      }
      return;
    }
  });
  return first < count ? first.load() : -1;
}

/// A number of a table.
struct Place {
  Index row = 0;
  Index column = 0;
  float number = 0.0F;
};

/// The first number of a table, row by row, for which is_bad(number).
template <class IsBad>
[[nodiscard]] std::optional<Place> first_bad_number(const MatrixView& table, const IsBad& is_bad) {
  const auto find = [&](Offset row) {
    const auto numbers = table.row_span(static_cast<Index>(row));
    return std::ranges::find_if(numbers, is_bad) - numbers.begin();
  };
  const Offset row = first_bad(table.rows, [&](Offset r) { return find(r) < table.cols; });
  if (row < 0) return std::nullopt;
  const Offset column = find(row);
  return Place{static_cast<Index>(row), static_cast<Index>(column),
               table.row(static_cast<Index>(row))[column]};
}

}  // namespace likewise
