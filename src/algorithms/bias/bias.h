// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "likewise/control.h"
#include "likewise/csr.h"

namespace likewise {

inline constexpr AlgorithmRow kBiasRow =
    algorithm_row<BiasParams>("bias", "the baseline of ratings");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const BiasParams& params);

/// Biases of users and items about the mean of all values: of a mean by itself, else by alternating
/// least squares or stochastic gradient descent over the entries in their order (Koren 2010).
/// Threads change nothing. A user or item without entries has a bias of 0.
/// Errors: kInvalidArgument (params), kBadData (a value too large to compute with), kNumerical
/// (diverged), kCancelled.
[[nodiscard]] Biases train_biases(const CsrView& by_user, const BiasParams& params,
                                  const RunControl& control = {});

}  // namespace likewise
