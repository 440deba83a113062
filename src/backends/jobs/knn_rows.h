// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>

#include "algorithms/knn/knn_prediction.h"

namespace likewise {

/// Predictions of one row for many columns, on the host: what KnnRatings::predict() gives for
/// each, bit-identical, by whatever takes less time.
class KnnRows {
 public:
  /// `ratings` must outlive it.
  explicit KnnRows(const KnnRatings& ratings);
  ~KnnRows();

  /// out[i] for columns[i]; `x`, `own` and `similarities` as for KnnRatings::predict().
  void predict(const RowLevel& x, Index own, const float* similarities,
               std::span<const Index> columns, float* out) const;

 private:
  struct Walk;  // its tables are made when a walk first pays

  const KnnRatings& ratings_;
  std::unique_ptr<Walk> walk_;
};

}  // namespace likewise
