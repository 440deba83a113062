// SPDX-License-Identifier: Apache-2.0
#include "backends/jobs/als_errors.h"

#include <fmt/format.h>

#include "core/placed_error.h"

namespace likewise {

void throw_singular(Side side, Index row, Offset count, Index pivot) {
  throw PlacedError(ErrorKind::kNumerical, {{side, row}},
                    [count, pivot](std::span<const std::string> names) {
                      return fmt::format(
                          "ALS: the system of {} ({} interactions) is not positive "
                          "definite at pivot {}: use a larger regularization",
                          names[0], count, pivot);
                    });
}

}  // namespace likewise
