// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "likewise/neighbourhood.h"

namespace likewise {

/// train_baselines() where similarity or prediction has a use for them, else none: they cost more
/// than the neighbours of a small matrix.
[[nodiscard]] inline Baselines needed_baselines(const CsrView& by_user,
                                                const NeighbourParams& params,
                                                const RunControl& control) {
  return params.needs_baselines() ? train_baselines(by_user, params.baseline_params(), control)
                                  : Baselines{};
}

}  // namespace likewise
