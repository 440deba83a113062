// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "algorithms/iteration_run.h"
#include "likewise/device.h"

namespace likewise {

inline constexpr AlgorithmRow kSgdRow =
    algorithm_row<SgdParams>("sgd", "ratings, by stochastic gradient descent");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const SgdParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_sgd(const SgdParams& params, const UpdateTask& task);

/// The same for explicit models of ALS, and the parameters of these steps.
[[nodiscard]] Refined update_als_by_sgd(const AlsParams& params, const UpdateTask& task);

[[nodiscard]] SgdParams sgd_params_of(const AlsParams& params);

/// Trains on `by_user` (users x items). Deterministic in (matrix, params), except for kRacing. The
/// objective of an epoch adds up each rating's loss just before its step. Rows without entries
/// keep factors of zero. Errors: kInvalidArgument (params, shapes of `start`), kBadData (names a
/// value that cannot be computed with), kNumerical (names epoch and learning rate), kCancelled,
/// kOutOfMemory, kDevice.
[[nodiscard]] IterationResult train_sgd(const CsrView& by_user, const SgdParams& params,
                                        const Device& device, const IterationRun& run = {});

}  // namespace likewise
