// SPDX-License-Identifier: Apache-2.0
#include "retrieval/batches.h"

#include "core/system/parallel.h"

namespace likewise {
namespace {

constexpr Offset kRowsAtATime = 256;

}  // namespace

Matrix gather_rows(const MatrixView& table, std::span<const Index> rows) {
  Matrix result(static_cast<Index>(rows.size()), table.cols);
  parallel_for(std::ssize(rows), kRowsAtATime, [&](Offset r) {
    std::copy_n(table.row(rows[static_cast<std::size_t>(r)]), table.cols,
                result.row(static_cast<Index>(r)));
  });
  return result;
}

CsrMatrix gather_rows(const CsrView& matrix, std::span<const Index> rows) {
  const auto count = static_cast<Offset>(rows.size());
  CsrMatrix result{static_cast<Index>(count), matrix.cols, Array<Offset>(count + 1), {}, {}};
  for (Offset r = 0; r < count; ++r) {
    result.offsets[r + 1] = result.offsets[r] + matrix.row_size(rows[static_cast<std::size_t>(r)]);
  }
  result.columns = Array<Index>::uninitialized(result.offsets[count]);
  parallel_for(count, kRowsAtATime, [&](Offset r) {
    const auto row = matrix.row_columns(rows[static_cast<std::size_t>(r)]);
    std::copy(row.begin(), row.end(), result.columns.begin() + result.offsets[r]);
  });
  return result;
}

}  // namespace likewise
