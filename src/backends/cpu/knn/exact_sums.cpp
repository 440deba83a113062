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

bool exact_in_float(std::span<const float> values, double largest) {
  std::atomic<int> unit{1};
  parallel_blocks(std::ssize(values), Offset{1} << 16, [&](Offset begin, Offset end, Offset) {
    int own = unit.load(std::memory_order_relaxed);
    if (own > 256) return;
    for (Offset e = begin; e < end && own <= 256; ++e) {
      own = std::max(own, whole_from(values[static_cast<std::size_t>(e)]));
    }
    for (int seen = unit.load(); seen < own && !unit.compare_exchange_weak(seen, own);) {
    }
  });
  return unit <= 256 && largest * unit * unit < 0x1p24;
}

bool exact_in_float(const WeightedRows& rows) {
  double largest = 0.0;  // |sum a b| and the rest are at most this
  for (const RowStats& row : rows.stats) {
    largest = std::max({largest, row.norm * row.norm, row.count});
  }
  return exact_in_float(rows.weights.all_values(), largest);
}

}  // namespace likewise
