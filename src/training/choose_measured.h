// SPDX-License-Identifier: Apache-2.0
/// The choice of auto, by counts and by what can be measured in a second.
#pragma once

#include "likewise/interactions.h"
#include "training/choose.h"

namespace likewise {

/// choose_algorithm(), or another where that is better on a hidden part, a fifth of the
/// interactions of half of the users: of lists item-knn, als, ease, spectral or popular by more
/// than 5 %, of ratings item-knn, sgd or als by more than 1 %, and bias at all. The reason says so.
/// Each is measured only where the estimates so far come to no more than a second on two cores. The
/// same for any number of threads.
[[nodiscard]] AlgorithmChoice choose_measured(const Interactions& data, Feedback feedback,
                                              const Device& device);

}  // namespace likewise
