// SPDX-License-Identifier: Apache-2.0
/// Whom trials of a search are validated on: by lists, those of whom the training part knows
/// something; with a budget of time a sample of them, where lists for all would take longer than
/// what they are to be compared by, the training of ALS.
#pragma once

#include <optional>

#include "likewise/csr.h"
#include "likewise/interactions.h"
#include "likewise/parameters.h"

namespace likewise {

/// No sample is smaller, so that the standard error of a mean of values from 0 to 1 is at most half
/// a percent.
inline constexpr Index kFewestSampled = 10'000;

/// The part without the users of whom `training` has no interactions; nothing where all stay, or
/// where it knows none of them by id, which measuring will say. Sets their number. Throws
/// Error(kBadData) where nobody is left. `same_users`: both have the same ids.
[[nodiscard]] std::optional<Interactions> of_known_users(const Interactions& part,
                                                         const Interactions& training,
                                                         bool same_users, Index& without_history);

/// How many of `users`, those with something held out: as many that scoring all items for them
/// takes kEvaluationShare times the additions of an iteration of ALS with these parameters.
[[nodiscard]] Index users_to_validate(const CsrView& training, Index users,
                                      const TrainingParams& als);

}  // namespace likewise
