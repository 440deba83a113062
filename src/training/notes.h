// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>
#include <vector>

#include "likewise/interactions.h"
#include "likewise/parameters.h"

namespace likewise {

/// What is odd about values that are to be learned from with these parameters: those that are no
/// likes, that fade without effect, ratings that are all alike. Throws Error(kBadData) for
/// implicit feedback without a value other than 0.
[[nodiscard]] std::vector<std::string> notes_on(const Interactions& data,
                                                const TrainingParams& params);

/// As TrainingPlan::remarks.
[[nodiscard]] std::vector<std::string> remarks_on(const Interactions& data,
                                                  const TrainingParams& params);

}  // namespace likewise
