// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"

namespace likewise {

inline constexpr AlgorithmRow kSgdRow =
    algorithm_row<SgdParams>("sgd", "ratings, by stochastic gradient descent");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const SgdParams& params);

/// As Algorithm::update().
[[nodiscard]] Refined update_sgd(const SgdParams& params, const UpdateTask& task);

/// The same for explicit models of ALS, and the parameters of these steps.
[[nodiscard]] Refined update_als_by_sgd(const AlsParams& params, const UpdateTask& task);
[[nodiscard]] SgdParams sgd_params_of(const AlsParams& params);

}  // namespace likewise
