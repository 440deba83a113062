// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <string>

#include "likewise/interactions.h"
#include "likewise/parameters.h"

namespace likewise {

/// Whether a training looks at how large values above 0 are, and not only at whether they are.
[[nodiscard]] bool reads_values(const TrainingParams& params);

/// That a training with these parameters does not, and which ones do. Without a subject before it:
/// "als takes all values above 0 alike; ...".
[[nodiscard]] std::string alike_text(const TrainingParams& params);

/// Throws Error(kInvalidArgument) where the values of `data` fade and a training with these
/// parameters would not see it.
void require_fading_read(const Interactions& data, const TrainingParams& params);

/// Of a search among trainings with these parameters: throws where none of them would see it, and
/// else says which ones would not. Empty where all do, and where no values fade.
[[nodiscard]] std::string note_on_fading(const Interactions& data,
                                         std::span<const TrainingParams> searched);

}  // namespace likewise
