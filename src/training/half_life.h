// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/interactions.h"
#include "likewise/types.h"

namespace likewise {

/// Throws Error(kInvalidArgument) where the values of `data` fade and are ratings: an old rating is
/// not a lower one.
void require_no_half_life(const Interactions& data, Feedback feedback);

}  // namespace likewise
