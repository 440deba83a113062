// SPDX-License-Identifier: Apache-2.0
#include "algorithms/algorithm.h"

#include <fmt/format.h>

#include "likewise/error.h"
#include "serving/fold_in.h"

namespace likewise {

std::unique_ptr<FoldInSolver> Algorithm::fold_in_solver(const Model& /*model*/,
                                                        const Factors& /*factors*/,
                                                        Side /*side*/) const {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} has no factors to fold new rows in with", name()));
}

void Algorithm::require_update_by(UpdateBy by) const {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("by {} says how models of als are updated; this one is of {}",
                          kUpdateByNames[static_cast<std::size_t>(by)], name()));
}

}  // namespace likewise
