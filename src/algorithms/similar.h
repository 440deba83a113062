// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "backends/jobs/top_k.h"
#include "likewise/device.h"
#include "likewise/recommender.h"

namespace likewise {

/// The rows of one table most similar to some of its rows. Thread-safe after construction.
class SimilarRows {
 public:
  /// kCosine keeps a table of rows of length 1 (rows of zeros stay zero); kDot uses `table` itself,
  /// which must outlive it.
  SimilarRows(const MatrixView& table, SimilarityMetric metric, const Device& device);

  [[nodiscard]] TopKResult find(std::span<const Index> rows, Index n,
                                const RunControl& control) const;

 private:
  Matrix normalized_;
  MatrixView table_;
  std::unique_ptr<Scorer> scorer_;
};

}  // namespace likewise
