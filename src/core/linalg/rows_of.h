// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "core/system/parallel.h"
#include "likewise/csr.h"

namespace likewise {

/// Rows [first, first + count) of a matrix, as a matrix over the same memory.
class RowsOf {
 public:
  RowsOf(const CsrView& matrix, Index first, Index count)
      : view_(matrix), offsets_(Array<Offset>::uninitialized(Offset{count} + 1)) {
    constexpr Offset kGrain = Offset{1} << 16;
    const Offset begin = count == 0 ? 0 : matrix.offsets[first];
    offsets_[0] = 0;
    parallel_for(count, kGrain,
                 [&](Offset i) { offsets_[i + 1] = matrix.offsets[first + i + 1] - begin; });
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
  Array<Offset> offsets_;
};

}  // namespace likewise
