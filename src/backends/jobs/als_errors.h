// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/types.h"

namespace likewise {

/// Throws PlacedError(kNumerical): the system of this row is not positive definite at this pivot.
[[noreturn]] void throw_singular(Side side, Index row, Offset count, Index pivot);

}  // namespace likewise
