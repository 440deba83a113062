// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>

#include "likewise/read.h"

namespace likewise {

/// What an entry becomes that has two values. kAuto, kError and kMean are not for here.
[[nodiscard]] inline float merged_value(float earlier, float later, Duplicates duplicates) {
  if (duplicates == Duplicates::kFirst) return earlier;
  if (duplicates == Duplicates::kSum || duplicates == Duplicates::kCount) {
    return static_cast<float>(double{earlier} + double{later});
  }
  return duplicates == Duplicates::kMax ? std::max(earlier, later) : later;
}

}  // namespace likewise
