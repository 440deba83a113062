// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "algorithms/algorithm.h"
#include "likewise/control.h"
#include "likewise/device.h"

namespace likewise {

inline constexpr AlgorithmRow kSpectralRow =
    algorithm_row<SpectralParams>("spectral", "factors of the largest singular values");

[[nodiscard]] std::unique_ptr<const Algorithm> make_algorithm(const SpectralParams& params);

/// Trains on `by_user` (users x items). Deterministic in (matrix, params), for any number of
/// threads. Factors beyond the rank of the matrix are 0. Errors: kInvalidArgument (params),
/// kBadData (a value too large to compute with), kOutOfMemory, kNumerical, kCancelled, kDevice.
[[nodiscard]] Factors train_spectral(const CsrView& by_user, const SpectralParams& params,
                                     const Device& device, const RunControl& control = {});

}  // namespace likewise
