// SPDX-License-Identifier: Apache-2.0
/// Rows to search among.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>

#include "core/system/parallel.h"
#include "likewise/matrix.h"
#include "likewise/recommender.h"

namespace likewise {

/// Normal numbers; their sizes, without signs, for a metric of vectors without negative numbers.
[[nodiscard]] inline Matrix normal_rows(Index count, Index cols, SimilarityMetric metric,
                                        std::uint64_t seed) {
  const bool positive = metric == SimilarityMetric::kHellinger;
  Matrix rows(count, cols);
  parallel_for(count, 256, [&](Offset row) {
    std::mt19937_64 random(seed + static_cast<std::uint64_t>(row));
    std::normal_distribution<float> normal;
    for (float& x : rows.row_span(static_cast<Index>(row))) {
      x = normal(random);
      if (positive) x = std::abs(x);
    }
  });
  return rows;
}

}  // namespace likewise
