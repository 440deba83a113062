// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/exact_sums.h"

#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/system/parallel.h"

namespace likewise {
namespace {

/// The smallest power of two that makes the value whole, up to 256; 512 where that is not enough.
[[nodiscard]] int whole_from(float value) {
  int unit = 1;
  for (double v = double{value}; v != std::rint(v) && unit <= 256; v *= 2.0) unit *= 2;
  return unit;
}

}  // namespace

bool exact_in_float(const WeightedRows& rows) {
  std::atomic<int> unit{1};
  parallel_blocks(rows.weights.nnz(), Offset{1} << 16, [&](Offset begin, Offset end, Offset) {
    int largest = unit.load(std::memory_order_relaxed);
    if (largest > 256) return;
    for (Offset e = begin; e < end && largest <= 256; ++e) {
      largest = std::max(largest, whole_from(rows.weights.values[e]));
    }
    for (int seen = unit.load(); seen < largest && !unit.compare_exchange_weak(seen, largest);) {
    }
  });
  if (unit > 256) return false;
  double largest = 0.0;  // |sum a b| and the rest are at most this
  for (const RowStats& row : rows.stats) {
    largest = std::max({largest, row.norm * row.norm, row.count});
  }
  return largest * unit * unit < 0x1p24;
}

}  // namespace likewise
