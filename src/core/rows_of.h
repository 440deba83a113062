// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/csr.h"

namespace likewise {

/// Rows [first, first + count) of a matrix, as a matrix over the same memory.
class RowsOf {
 public:
  RowsOf(const CsrView& matrix, Index first, Index count) : view_(matrix) {
    const Offset begin = count == 0 ? 0 : matrix.offsets[first];
    offsets_.push_back(0);
    for (Index row = first; row < first + count; ++row) {
      offsets_.push_back(matrix.offsets[row + 1] - begin);
    }
    view_.rows = count;
    if (view_.columns != nullptr) view_.columns += begin;
    if (view_.values != nullptr) view_.values += begin;
  }
  [[nodiscard]] CsrView view() const {
    CsrView view = view_;
    view.offsets = offsets_.data();
    return view;
  }

 private:
  CsrView view_;
  std::vector<Offset> offsets_;
};

}  // namespace likewise
