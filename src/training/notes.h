// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "likewise/interactions.h"
#include "likewise/types.h"

namespace likewise {

/// What is odd about values that are to be learned from: those that are no likes, ratings that are
/// all alike. Throws Error(kBadData) for implicit feedback without a value other than 0.
[[nodiscard]] std::vector<std::string> notes_on(const Interactions& data, Feedback feedback);

}  // namespace likewise
