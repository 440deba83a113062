// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <span>
#include <vector>

#include "backends/jobs/top_k.h"
#include "likewise/device.h"
#include "retrieval/metric.h"

namespace likewise {

/// A table of rows, searched under a metric. Thread-safe after construction.
class TableSearch {
 public:
  /// `table` and `bias` must outlive it: a metric without a transform searches them as they are.
  /// Throws Error(kInvalidArgument) for a bias beside a metric that is more than a dot product.
  TableSearch(const MatrixView& table, std::span<const float> bias, const Metric& metric,
              const Device& device);

  /// The rows as the metric transforms them.
  [[nodiscard]] const MatrixView& table() const { return table_; }
  /// A copy of queries, as the metric transforms them.
  [[nodiscard]] Matrix transformed(const MatrixView& queries) const;
  /// For queries that are transformed.
  [[nodiscard]] TopKResult top_k(const MatrixView& queries, Index n, const TopKFilter& filter,
                                 const RunControl& control) const;

 private:
  const Metric& metric_;
  Matrix transformed_;
  MatrixView table_;
  std::unique_ptr<Scorer> scorer_;
};

/// One byte per row: 1 for those of `allow` (all where it is empty) except for those of `deny`.
/// Empty where all rows are allowed. Throws Error(kInvalidArgument) for what is none of `rows`
/// rows; `what` names one.
[[nodiscard]] std::vector<std::uint8_t> allowed_rows(std::span<const Index> allow,
                                                     std::span<const Index> deny, Index rows,
                                                     const char* what);

/// Throws Error(kInvalidArgument) for a row outside [lowest, end); `what` names one.
void check_rows(std::span<const Index> rows, Index lowest, Index end, const char* what);

}  // namespace likewise
