// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

/// a . b in double precision over `length` floats, a multiple of 8 (products are then exact),
/// summed in one fixed order: the same bits on every instruction set.
[[nodiscard]] double exact_dot(const float* a, const float* b, Index length);

/// out[r] = exact_dot(query, rows + r * stride, length) for `count` rows.
void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out);

/// |a - b|^2 in double precision over `length` floats, a multiple of 8, as ScoreKind says: the same
/// bits on every instruction set and every device.
[[nodiscard]] double exact_squared_distance(const float* a, const float* b, Index length);

/// out[r] = exact_squared_distance(query, rows + r * stride, length) for `count` rows.
void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out);

}  // namespace likewise::kernels
