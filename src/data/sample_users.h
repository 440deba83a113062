// SPDX-License-Identifier: Apache-2.0
/// Some of the users, to measure on where all would take too long.
#pragma once

#include <cstdint>

#include "likewise/csr.h"
#include "likewise/interactions.h"

namespace likewise {

/// Rows with entries.
[[nodiscard]] Index users_with_entries(const CsrView& by_user);

/// The entries of so many of the users that have some, drawn by the seed; the same shape and ids.
[[nodiscard]] Interactions sample_users(const Interactions& part, Index users, std::uint64_t seed);

}  // namespace likewise
