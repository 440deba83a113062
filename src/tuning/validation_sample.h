// SPDX-License-Identifier: Apache-2.0
/// Of a search with a budget of time: whom trials are validated on where lists for all would take
/// longer than what they are to be compared by, the training of ALS.
#pragma once

#include "likewise/csr.h"
#include "likewise/parameters.h"

namespace likewise {

/// No sample is smaller, so that the standard error of a mean of values from 0 to 1 is at most half
/// a percent.
inline constexpr Index kFewestSampled = 10'000;

/// How many of `users`, those with something held out: as many that scoring all items for them
/// takes kEvaluationShare times the additions of an iteration of ALS with these parameters.
[[nodiscard]] Index users_to_validate(const CsrView& training, Index users,
                                      const TrainingParams& als);

}  // namespace likewise
