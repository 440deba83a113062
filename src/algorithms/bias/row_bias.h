// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <span>

#include "likewise/types.h"

namespace likewise {

/// The bias of one row, of users or of items, where all others are known: one step of alternating
/// least squares. `bias_of(column)` is that of the other side. 0 for a row without entries.
///
///     b_x = sum over the row of (r - mean - b_y) / (regularization + entries)
template <class BiasOf>
[[nodiscard]] double row_bias(std::span<const Index> columns, std::span<const float> values,
                              double mean, const BiasOf& bias_of, double regularization) {
  if (columns.empty()) return 0.0;
  double sum = 0.0;
  for (std::size_t e = 0; e < columns.size(); ++e) {
    sum += double{values[e]} - mean - bias_of(columns[e]);
  }
  return sum / (regularization + static_cast<double>(columns.size()));
}

}  // namespace likewise
