// SPDX-License-Identifier: Apache-2.0
#include "training/cost.h"

#include "algorithms/algorithm.h"

namespace likewise {

double core_seconds(const CsrView& by_user, const TrainingParams& params) {
  return algorithm_of(params)->core_seconds(by_user);
}

std::optional<TrainingParams> cheaper_form(const TrainingParams& params) {
  return algorithm_of(params)->cheaper_form();
}

}  // namespace likewise
