// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>

#include "core/system/parallel.h"
#include "likewise/csr.h"

namespace likewise {

inline constexpr Offset kRowsFilledAtATime = 1024;

/// Room for `count(row)` cells in each row.
template <class Count>
[[nodiscard]] CsrMatrix room_for_rows(Index rows, Index columns, const Count& count) {
  CsrMatrix matrix{rows, columns, Array<Offset>(Offset{rows} + 1), {}, {}};
  parallel_for(rows, kRowsFilledAtATime,
               [&](Offset row) { matrix.offsets[row + 1] = count(static_cast<Index>(row)); });
  std::partial_sum(matrix.offsets.begin(), matrix.offsets.end(), matrix.offsets.begin());
  matrix.columns = Array<Index>::uninitialized(matrix.offsets[rows]);
  matrix.values = Array<float>::uninitialized(matrix.offsets[rows]);
  return matrix;
}

/// Rows with as many cells as `count(row)` says, which `fill(row, columns, values)` writes.
template <class Count, class Fill>
[[nodiscard]] CsrMatrix fill_rows(Index rows, Index columns, const Count& count, const Fill& fill) {
  CsrMatrix matrix = room_for_rows(rows, columns, count);
  parallel_for(rows, kRowsFilledAtATime, [&](Offset row) {
    fill(static_cast<Index>(row), matrix.columns.data() + matrix.offsets[row],
         matrix.values.data() + matrix.offsets[row]);
  });
  return matrix;
}

}  // namespace likewise
