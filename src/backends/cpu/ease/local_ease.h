// SPDX-License-Identifier: Apache-2.0
/// EASE of an item's candidates alone, a system for each item, as EaseJob::local_weights().
#pragma once

#include "backends/jobs/ease.h"

namespace likewise {

[[nodiscard]] KnnLists local_ease(const CsrView& by_user, const EaseSystem& system,
                                  const KnnLists& candidates, const RunControl& control);

}  // namespace likewise
