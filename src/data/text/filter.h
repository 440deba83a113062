// SPDX-License-Identifier: Apache-2.0
/// Leaves out weak values, and users and items with too few interactions.
#pragma once

#include <string>

#include "likewise/interactions.h"
#include "likewise/read.h"

namespace likewise {

/// Throws kInvalidArgument for bounds that cannot be.
void check_filters(const ReadOptions& options);

/// Applies min_value, then min_user_count and min_item_count until nothing changes; users and items
/// that since and until left nothing go too. O(interactions). Throws kInvalidArgument when nothing
/// is left. `file` is for messages.
[[nodiscard]] Interactions filter(Interactions data, const ReadOptions& options,
                                  const std::string& file, ReadSummary& summary);

}  // namespace likewise
