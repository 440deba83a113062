// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "likewise/control.h"
#include "likewise/device.h"

namespace likewise {

inline constexpr AlgorithmRow kEaseRow =
    algorithm_row<EaseParams>("ease", "weights between items, by ridge regression");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const EaseParams& params);

/// Trains on `by_user` (users x items). Deterministic in (matrix, params), for any number of
/// threads. kDense learns ItemWeights, kLocal a Neighbourhood: the list of j has the items i with
/// their B_ij, the largest first. Errors: kInvalidArgument (params), kBadData (a value too large to
/// compute with), kNumerical (a system that is singular to float32, naming an item), kOutOfMemory
/// (before anything is computed, where items x items numbers do not fit), kCancelled, kDevice.
[[nodiscard]] std::variant<ItemWeights, Knn> train_ease(const CsrView& by_user,
                                                        const EaseParams& params,
                                                        const Device& device,
                                                        const RunControl& control = {});

}  // namespace likewise
