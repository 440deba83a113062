// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

/// a . b in double precision over `length` floats, a multiple of 8 (products are then exact),
/// summed in one fixed order: the same bits on every instruction set.
[[nodiscard]] double exact_dot(const float* a, const float* b, Index length);

}  // namespace likewise::kernels
