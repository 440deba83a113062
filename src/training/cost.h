// SPDX-License-Identifier: Apache-2.0
/// What rooms of algorithms say of the cost of a training, for searches.
#pragma once

#include <optional>

#include "likewise/csr.h"
#include "likewise/parameters.h"

namespace likewise {

/// About how many seconds of a core a training on these data takes: an estimate from counts alone.
[[nodiscard]] double core_seconds(const CsrView& by_user, const TrainingParams& params);

/// The same by a form that costs less; nothing where there is none.
[[nodiscard]] std::optional<TrainingParams> cheaper_form(const TrainingParams& params);

}  // namespace likewise
