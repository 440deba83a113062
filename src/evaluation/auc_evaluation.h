// SPDX-License-Identifier: Apache-2.0
/// The area under the ROC curve of one user over the whole catalogue.
#pragma once

#include <span>

#include "likewise/types.h"

namespace likewise {

/// `scores` (one per item) is used as scratch space. `relevant` and `seen` rise and share no item;
/// seen items are on neither side, all others are either relevant or not.
[[nodiscard]] double auc_of_user(std::span<float> scores, std::span<const Index> relevant,
                                 std::span<const Index> seen);

}  // namespace likewise
