// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <limits>
#include <span>

#include "core/host_device.h"

namespace likewise {

/// The float32 on the scale that is nearest to a rating.
[[nodiscard]] LIKEWISE_HOST_DEVICE float on_scale(float lowest, float highest, double rating) {
  const auto rounded = static_cast<float>(rating);
  return rounded < lowest ? lowest : highest < rounded ? highest : rounded;
}

/// The scale of ratings, from the smallest to the largest of the training values; without clipping,
/// or without values, all numbers.
class RatingScale {
 public:
  RatingScale(std::span<const float> values, bool clip);

  [[nodiscard]] float operator()(double rating) const {
    return on_scale(lowest_, highest_, rating);
  }
  [[nodiscard]] float lowest() const { return lowest_; }
  [[nodiscard]] float highest() const { return highest_; }

 private:
  float lowest_ = -std::numeric_limits<float>::infinity();
  float highest_ = std::numeric_limits<float>::infinity();
};

}  // namespace likewise
