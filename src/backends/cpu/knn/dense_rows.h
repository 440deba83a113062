// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "core/system/parallel.h"
#include "likewise/array.h"
#include "likewise/csr.h"

namespace likewise {

/// Dense rows of `cols` numbers: in place where the matrix stores a row densely, else copies with
/// zeros for missing entries.
class DenseRows {
 public:
  /// The matrix must outlive it.
  explicit DenseRows(const CsrView& m) : at_(static_cast<std::size_t>(m.rows)) {
    std::vector<Index> gapped;
    for (Index row = 0; row < m.rows; ++row) {
      at_[static_cast<std::size_t>(row)] = m.values + m.offsets[row];
      if (m.row_size(row) < m.cols) gapped.push_back(row);
    }
    copies_ = Array<float>::uninitialized(std::ssize(gapped) * Offset{m.cols});
    parallel_for(std::ssize(gapped), 16, [&](Offset g) {
      const Index row = gapped[static_cast<std::size_t>(g)];
      float* const copy = copies_.data() + g * m.cols;
      std::fill_n(copy, m.cols, 0.0F);
      for (Offset e = m.offsets[row]; e < m.offsets[row + 1]; ++e) copy[m.columns[e]] = m.values[e];
      at_[static_cast<std::size_t>(row)] = copy;
    });
  }

  [[nodiscard]] const float* operator[](Index row) const {
    return at_[static_cast<std::size_t>(row)];
  }

 private:
  std::vector<const float*> at_;
  Array<float> copies_;
};

}  // namespace likewise
