// SPDX-License-Identifier: Apache-2.0
/// Which item stripes meet in an epoch of BPR. The likes of one stripe of a pair take their
/// negatives from the other, so that pairs share no item and are done at the same time; over as
/// many epochs as there are stripes each stripe meets every one once, itself included (a round
/// robin by the circle method).
#pragma once

#include <vector>

#include "likewise/types.h"

namespace likewise {

struct StripePair {
  Index first = 0;
  Index second = 0;  ///< the same where a stripe meets itself
};

/// The pairs of epoch 1, 2, ...; `stripes` is 1 or even.
[[nodiscard]] std::vector<StripePair> stripe_pairs(Index stripes, int epoch);

}  // namespace likewise
