// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "algorithms/iteration_run.h"
#include "likewise/device.h"

namespace likewise {

inline constexpr AlgorithmRow kBprRow =
    algorithm_row<BprParams>("bpr", "rankings, by stochastic gradient descent");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const BprParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_bpr(const BprParams& params, const UpdateTask& task);

/// Trains on `by_user` (users x items). Deterministic in (matrix, params), except for kRacing. The
/// objective of an epoch adds up -ln sigma just before each step. Rows without likes keep factors
/// of zero. Errors: kInvalidArgument (params, shapes of `start`), kBadData (no user has anything
/// that it likes and anything that it does not), kNumerical (names epoch and learning rate),
/// kCancelled, kOutOfMemory, kDevice.
[[nodiscard]] IterationResult train_bpr(const CsrView& by_user, const BprParams& params,
                                        const Device& device, const IterationRun& run = {});

}  // namespace likewise
