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

}  // namespace likewise
