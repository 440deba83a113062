// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/synthetic.h"

namespace likewise {

/// Throws Error(kInvalidArgument) on sizes below one or too large, or more interactions than cells.
void check_shape(Offset users, Offset items, Offset nnz);

}  // namespace likewise
