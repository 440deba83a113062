// SPDX-License-Identifier: Apache-2.0
/// What a training starts from.
#pragma once

#include "likewise/als.h"
#include "likewise/csr.h"
#include "likewise/factors.h"

namespace likewise {

/// Whether the model has a mean and a bias per user and item.
[[nodiscard]] bool has_biases(const AlsParams& params);

/// Drawn factors; with biases also the mean of all values, and biases of 0.
[[nodiscard]] Factors first_factors(const CsrView& by_user, const AlsParams& params);

}  // namespace likewise
