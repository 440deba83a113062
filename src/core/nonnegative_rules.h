// SPDX-License-Identifier: Apache-2.0
/// When block principal pivoting exchanges how many unknowns: the same for the processor and for
/// GPUs.
#pragma once

#include "core/host_device.h"

namespace likewise {

/// A gradient below so much of the terms that it is the difference of is rounding.
inline constexpr double kGradientRounding = 1e-12;

/// Of one row.
class PivotingProgress {
 public:
  LIKEWISE_HOST_DEVICE explicit PivotingProgress(int unknowns)
      : unknowns_(unknowns), fewest_(unknowns + 1) {}

  /// One at a time always ends, but for rounding; nothing comes near so many.
  [[nodiscard]] LIKEWISE_HOST_DEVICE int most_turns() const { return 100 + 10 * unknowns_; }

  /// With so many of the wrong sign: whether all of them change places, or the last alone, which is
  /// when there have been no fewer for a while.
  [[nodiscard]] LIKEWISE_HOST_DEVICE bool exchanges_all(int wrong) {
    patience_ = wrong < fewest_ ? kPatience : patience_ - 1;
    fewest_ = wrong < fewest_ ? wrong : fewest_;
    return patience_ >= 0;
  }

 private:
  static constexpr int kPatience = 3;  ///< exchanges of all that may pass without there being less

  int unknowns_;
  int fewest_;
  int patience_ = kPatience;
};

}  // namespace likewise
