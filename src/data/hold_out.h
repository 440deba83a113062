// SPDX-License-Identifier: Apache-2.0
/// Test and validation parts of fewer users than a split draws.
#pragma once

#include <cstdint>

#include "likewise/split.h"

namespace likewise {

/// `parts` of `all` with so many of the users who have something in the test part, drawn by the
/// seed; what the others had there is in training again.
[[nodiscard]] Split hold_out_of(const Interactions& all, const Split& parts, Index users,
                                std::uint64_t seed);

}  // namespace likewise
