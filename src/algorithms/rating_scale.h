// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <limits>
#include <span>

namespace likewise {

/// The scale of ratings, from the smallest to the largest of the training values; without clipping,
/// or without values, all numbers.
class RatingScale {
 public:
  RatingScale(std::span<const float> values, bool clip) {
    if (!clip || values.empty()) return;
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    lowest_ = *low;
    highest_ = *high;
  }

  /// The nearest float32 on the scale.
  [[nodiscard]] float operator()(double rating) const {
    return std::clamp(static_cast<float>(rating), lowest_, highest_);
  }

 private:
  float lowest_ = -std::numeric_limits<float>::infinity();
  float highest_ = std::numeric_limits<float>::infinity();
};

}  // namespace likewise
