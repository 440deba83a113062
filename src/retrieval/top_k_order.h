// SPDX-License-Identifier: Apache-2.0
/// In which order scorers look at items, and from where.
#pragma once

#include <span>
#include <vector>

#include "backends/jobs/top_k.h"
#include "likewise/matrix.h"

namespace likewise {

/// Rows as seen from a centre: y - m, each number rounded once. Without a centre the rows
/// themselves.
class CentredRows {
 public:
  /// `rows` and `centre` (empty or one number per column) must outlive it.
  CentredRows(const MatrixView& rows, std::span<const float> centre)
      : rows_(rows), centre_(centre) {}

  [[nodiscard]] Index rows() const { return rows_.rows; }
  [[nodiscard]] Index cols() const { return rows_.cols; }
  /// Row i: in the table, or in `room`, which is used again for the next.
  [[nodiscard]] const float* row(Index i, std::vector<float>& room) const;

 private:
  MatrixView rows_;
  std::span<const float> centre_;
};

/// All items, falling by  c |y| + bias  (ties: smaller item first) with c the root mean square |y|,
/// a guess of a query's length: the likely winners come first and thresholds rise early. For
/// distances rising by |y|: a search begins at the length of its query.
[[nodiscard]] std::vector<Index> packing_order(const CentredRows& items,
                                               std::span<const float> item_bias, ScoreKind score);

/// A point among the rows, so that distances between them are not small against their lengths: the
/// median of each column, over some of the rows. Rows far outside do not move it.
[[nodiscard]] std::vector<float> centre_of(const MatrixView& rows);

[[nodiscard]] double norm_of(const float* row, Index length);
/// |row|, rounded up.
[[nodiscard]] float norm_above(const float* row, Index length);

}  // namespace likewise
