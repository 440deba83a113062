// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "likewise/backend.h"
#include "search/metric.h"

namespace likewise {

/// The rows of one table most similar to some of its rows. Thread-safe after construction.
class SimilarRows {
 public:
  /// `table` must outlive it: a metric without a transform searches it as it is.
  SimilarRows(const MatrixView& table, const Metric& metric, const Backend& backend);

  /// The n nearest of each row, itself excluded.
  [[nodiscard]] TopKResult find(std::span<const Index> rows, Index n,
                                const RunControl& control) const;

 private:
  const Metric& metric_;
  Matrix transformed_;
  MatrixView table_;
  Array<float> biases_;
  std::unique_ptr<Scorer> scorer_;
};

}  // namespace likewise
