// SPDX-License-Identifier: Apache-2.0
/// Dense row-major float32 matrices: `Matrix` owns, `MatrixView` borrows.
///
/// Rows are 64-byte aligned and padded with zeros to a multiple of 16 numbers, so that kernels read
/// whole vectors. Whoever writes rows keeps the padding zero. A matrix may have 0 rows or 0
/// columns.
#pragma once

#include <span>

#include "likewise/array.h"
#include "likewise/types.h"

namespace likewise {

/// Numbers from one row to the next for `cols` columns: the next multiple of 16.
[[nodiscard]] constexpr Index padded_stride(Index cols) { return (cols + 15) / 16 * 16; }

/// Read-only look at a row-major matrix whose padding is zero. Does not own; cheap to copy.
struct MatrixView {
  const float* data = nullptr;
  Index rows = 0;
  Index cols = 0;
  Index stride = 0;

  [[nodiscard]] const float* row(Index i) const { return data + static_cast<Offset>(i) * stride; }
  [[nodiscard]] std::span<const float> row_span(Index i) const {
    return {row(i), static_cast<std::size_t>(cols)};
  }
  /// Rows [first, first + count).
  [[nodiscard]] MatrixView slice(Index first, Index count) const {
    return {row(first), count, cols, stride};
  }
};

class Matrix {
 public:
  Matrix() = default;
  /// rows x cols zeros.
  Matrix(Index rows, Index cols)
      : values_(static_cast<Offset>(rows) * padded_stride(cols)),
        rows_(rows),
        cols_(cols),
        stride_(padded_stride(cols)) {}
  /// Over existing padded storage (rows x padded_stride(cols)), e.g. a mapped file.
  Matrix(Array<float> values, Index rows, Index cols)
      : values_(std::move(values)), rows_(rows), cols_(cols), stride_(padded_stride(cols)) {}

  [[nodiscard]] Index rows() const { return rows_; }
  [[nodiscard]] Index cols() const { return cols_; }
  [[nodiscard]] Index stride() const { return stride_; }
  [[nodiscard]] float* data() { return values_.data(); }
  [[nodiscard]] const float* data() const { return values_.data(); }
  [[nodiscard]] float* row(Index i) { return data() + static_cast<Offset>(i) * stride_; }
  [[nodiscard]] const float* row(Index i) const {
    return data() + static_cast<Offset>(i) * stride_;
  }
  [[nodiscard]] std::span<float> row_span(Index i) {
    return {row(i), static_cast<std::size_t>(cols_)};
  }
  [[nodiscard]] std::span<const float> row_span(Index i) const {
    return {row(i), static_cast<std::size_t>(cols_)};
  }
  [[nodiscard]] MatrixView view() const { return {data(), rows_, cols_, stride_}; }
  [[nodiscard]] Matrix clone() const { return {values_.clone(), rows_, cols_}; }
  /// The same memory, as Array::share().
  [[nodiscard]] Matrix share() const { return {values_.share(), rows_, cols_}; }

 private:
  Array<float> values_;
  Index rows_ = 0;
  Index cols_ = 0;
  Index stride_ = 0;
};

}  // namespace likewise
