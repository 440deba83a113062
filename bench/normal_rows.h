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

/// Points about so many centres: normal numbers, to which twice those of a centre are added.
[[nodiscard]] inline Matrix rows_about(Index centres, Index count, Index cols, std::uint64_t seed) {
  const Matrix middle = normal_rows(centres, cols, SimilarityMetric::kDot, ~seed);
  Matrix rows = normal_rows(count, cols, SimilarityMetric::kDot, seed);
  parallel_for(count, 256, [&](Offset row) {
    std::mt19937_64 random(~seed + static_cast<std::uint64_t>(centres + row));
    const float* centre = middle.row(static_cast<Index>(random() % static_cast<unsigned>(centres)));
    for (float& x : rows.row_span(static_cast<Index>(row))) x += 2.0F * *centre++;
  });
  return rows;
}

}  // namespace likewise
