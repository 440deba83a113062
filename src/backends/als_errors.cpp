// SPDX-License-Identifier: Apache-2.0
#include "backends/als_errors.h"

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {

void throw_singular(Side side, Index row, Offset count, Index pivot) {
  throw Error(
      ErrorKind::kNumerical,
      fmt::format("ALS: the system of row {} of the {} side ({} interactions) is not positive "
                  "definite at pivot {}: use a larger regularization",
                  row, side_name(side), count, pivot));
}

}  // namespace likewise
