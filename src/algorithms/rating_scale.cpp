// SPDX-License-Identifier: Apache-2.0
#include "algorithms/rating_scale.h"

#include <algorithm>
#include <vector>

#include "core/system/parallel.h"

namespace likewise {

RatingScale::RatingScale(std::span<const float> values, bool clip) {
  if (!clip || values.empty()) return;
  constexpr Offset kBlock = Offset{1} << 16;
  const auto blocks = static_cast<std::size_t>((std::ssize(values) + kBlock - 1) / kBlock);
  std::vector<float> lowest(blocks);
  std::vector<float> highest(blocks);
  parallel_blocks(std::ssize(values), kBlock, [&](Offset begin, Offset end, Offset block) {
    const auto [low, high] = std::minmax_element(values.begin() + begin, values.begin() + end);
    lowest[static_cast<std::size_t>(block)] = *low;
    highest[static_cast<std::size_t>(block)] = *high;
  });
  lowest_ = *std::ranges::min_element(lowest);
  highest_ = *std::ranges::max_element(highest);
}

}  // namespace likewise
