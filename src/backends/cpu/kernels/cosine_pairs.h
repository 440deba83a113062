// SPDX-License-Identifier: Apache-2.0
/// The inner loops beside the products of a search by estimated cosines: which estimates matter,
/// and the double precision sums of the pairs behind them.
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

/// sums[i] *= factor; writes to `hits` (room for count + 16) which of them reach the threshold,
/// and returns how many. `count`: a multiple of 16, `sums` 64-byte aligned.
Index scale_and_find(float* sums, Index count, float factor, float threshold, Index* hits);

/// Which estimates[i] reach thresholds[i], in the same way.
Index find_reaching(const float* estimates, const float* thresholds, Index count, Index* hits);

/// Rows that add_dots() takes at a time.
constexpr Index kDots = 8;

/// sums[i] += x . rows[i] over `length` columns, for kDots rows: products are exact, additions in
/// double precision in no promised order.
void add_dots(const float* x, const float* const* rows, Index length, double* sums);

}  // namespace likewise::kernels
