// SPDX-License-Identifier: Apache-2.0
/// Sparse rows (compressed sparse rows): `CsrMatrix` owns, `CsrView` borrows.
///
/// Invariant, checked once by `validate()` where data enters: `offsets` has rows + 1 entries,
/// starts at 0 and never falls; within a row the columns rise strictly (sorted, no duplicates) and
/// lie in [0, cols); every value is finite.
#pragma once

#include <span>

#include "likewise/array.h"
#include "likewise/types.h"

namespace likewise {

struct CsrView {
  Index rows = 0;
  Index cols = 0;
  const Offset* offsets = nullptr;  ///< rows + 1 positions
  const Index* columns = nullptr;   ///< nnz() column numbers
  const float* values = nullptr;    ///< nnz() values

  [[nodiscard]] Offset nnz() const { return rows == 0 ? 0 : offsets[rows]; }
  [[nodiscard]] Offset row_size(Index row) const { return offsets[row + 1] - offsets[row]; }
  [[nodiscard]] std::span<const Index> row_columns(Index row) const {
    return {columns + offsets[row], static_cast<std::size_t>(row_size(row))};
  }
  [[nodiscard]] std::span<const float> row_values(Index row) const {
    return {values + offsets[row], static_cast<std::size_t>(row_size(row))};
  }
  [[nodiscard]] std::span<const float> all_values() const {
    return {values, static_cast<std::size_t>(nnz())};
  }
};

struct CsrMatrix {
  Index rows = 0;
  Index cols = 0;
  Array<Offset> offsets;
  Array<Index> columns;
  Array<float> values;

  [[nodiscard]] CsrView view() const {
    return {rows, cols, offsets.data(), columns.data(), values.data()};
  }
  [[nodiscard]] Offset nnz() const { return columns.size(); }
  [[nodiscard]] CsrMatrix clone() const {
    return {rows, cols, offsets.clone(), columns.clone(), values.clone()};
  }
  /// The same memory, as Array::share().
  [[nodiscard]] CsrMatrix share() const {
    return {rows, cols, offsets.share(), columns.share(), values.share()};
  }
};

/// Throws Error(kBadData) naming the first row that breaks the invariant above. `what` names the
/// matrix in the message.
void validate(const CsrView& matrix, const char* what);

/// The same entries by column. O(nnz), parallel, the same result for any thread count.
[[nodiscard]] CsrMatrix transpose(const CsrView& matrix);

}  // namespace likewise
