// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/neighbourhood.h"

namespace likewise {

/// train_baselines() where similarity or prediction has a use for them, else none: they cost more
/// than the neighbours of a small matrix.
[[nodiscard]] Baselines needed_baselines(const CsrView& by_user, const NeighbourParams& params);

}  // namespace likewise
