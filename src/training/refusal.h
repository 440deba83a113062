// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

#include "likewise/csr.h"
#include "likewise/parameters.h"

namespace likewise {

/// Why a training with these parameters would refuse the values of this matrix; empty where it
/// takes them.
[[nodiscard]] std::string refusal_of(const CsrView& by_user, const TrainingParams& params);

}  // namespace likewise
