// SPDX-License-Identifier: Apache-2.0
#include "training/refusal.h"

#include "algorithms/algorithm.h"
#include "likewise/error.h"

namespace likewise {

std::string refusal_of(const CsrView& by_user, const TrainingParams& params) {
  try {
    algorithm_of(params)->check_values(by_user);
  } catch (const Error& error) {
    if (error.kind() != ErrorKind::kBadData) throw;
    return error.what();
  }
  return {};
}

}  // namespace likewise
