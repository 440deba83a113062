// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "likewise/device.h"
#include "retrieval/table_search.h"

namespace likewise {

/// The rows of one table most similar to some of its rows. Thread-safe after construction.
class SimilarRows {
 public:
  /// `table` must outlive it: a metric without a transform searches it as it is.
  SimilarRows(const MatrixView& table, const Metric& metric, const Device& device)
      : search_(table, {}, metric, device) {}

  /// The n nearest of each row, itself excluded.
  [[nodiscard]] TopKResult find(std::span<const Index> rows, Index n,
                                const RunControl& control) const;

 private:
  TableSearch search_;
};

}  // namespace likewise
