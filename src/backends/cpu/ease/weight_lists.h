// SPDX-License-Identifier: Apache-2.0
/// Lists by dense weights on the CPU, for so many histories that each row of weights is read often:
/// estimates in float16 tell which few items may be answers, and these are added up exactly.
#pragma once

#include <memory>

#include "backends/jobs/ease.h"

namespace likewise {

/// As EaseJob::make_lists, never null; the lists of a few histories are left undecided.
[[nodiscard]] std::unique_ptr<WeightLists> make_cpu_weight_lists(const MatrixView& weights);

}  // namespace likewise
