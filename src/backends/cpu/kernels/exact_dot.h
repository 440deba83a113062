// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

// In double precision over `length` floats, a multiple of 8 (products are then exact), summed in
// one fixed order: the same bits on every instruction set and every device.

/// out[p] = a[p] . b[p] for `count` pairs.
void exact_dot_pairs(const float* const* a, const float* const* b, Index length, Index count,
                     double* out);
/// out[r] = query . (rows + r * stride) for `count` rows.
void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out);

/// out[p] = |a[p] - b[p]|^2, as ScoreKind says.
void exact_squared_distance_pairs(const float* const* a, const float* const* b, Index length,
                                  Index count, double* out);
/// out[r] = |query - (rows + r * stride)|^2.
void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out);

}  // namespace likewise::kernels
