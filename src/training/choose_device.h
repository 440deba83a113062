// SPDX-License-Identifier: Apache-2.0
/// Which device trains.
#pragma once

#include "likewise/training.h"

namespace likewise {

/// Throws Error(kDevice) where the device cannot train with this algorithm, and
/// Error(kInvalidArgument) where not with these parameters.
void require_to_train(const Device& device, const TrainingParams& params);

}  // namespace likewise
