// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "likewise/interactions.h"

namespace likewise {

/// Where each of `ids` is in another map; -1: nowhere.
[[nodiscard]] std::vector<Index> places_of(const IdMap& ids, const IdMap& in);

}  // namespace likewise
