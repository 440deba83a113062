// SPDX-License-Identifier: Apache-2.0
/// When values are alike: what float32 makes of equal values is no spread.
#pragma once

#include <limits>

#include "core/host_device.h"

namespace likewise {

/// Whether values of this variance and mean square are all the same except for rounding: they
/// differ by a millionth of their size, which is 17 roundings. Both may be multiplied by the same
/// number.
[[nodiscard]] LIKEWISE_HOST_DEVICE bool is_constant(double variance, double square) {
  return !(variance > 1e-12 * square);
}

/// The smallest spread of values that float32 has all its digits for.
inline constexpr double kSmallestSpread = double{std::numeric_limits<float>::min()};

}  // namespace likewise
