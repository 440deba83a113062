// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <vector>

#include "algorithms/knn/knn_prediction.h"

namespace likewise {

/// The deviations that predictions add up, by row. Columns stand by falling number of raters: those
/// that soon have enough are neighbours.
struct PlacedRows {
  std::vector<Index> columns;  ///< of places
  CsrMatrix rows;              ///< rows x places
};

[[nodiscard]] PlacedRows place_rows(const KnnRatings& ratings);

}  // namespace likewise
