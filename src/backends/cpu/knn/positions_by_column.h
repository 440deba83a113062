// SPDX-License-Identifier: Apache-2.0
/// A sparse matrix by column, its rows numbered by rank: the data of a search for neighbours, and
/// of X' X of EASE.
///
/// Where the popular rows come first, the head of a column is nearly full. There 16 ranks take a
/// mask of 16 bits, and the additions of a group of 16 are one of vectors; only the rest of a
/// column lists its ranks.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/pair_sums.h"
#include "likewise/array.h"
#include "likewise/csr.h"

namespace likewise {

enum class ColumnHeads { kListed, kMasked };
enum class ColumnValues { kKept, kOnes };  ///< kOnes: all are 1, and products alone are wanted

/// Rank: std::uint16_t or Index.
template <class Rank>
class PositionsByColumn {
 public:
  /// `order`: rank -> row.
  PositionsByColumn(const CsrView& rows, std::span<const Index> order, ColumnHeads heads,
                    ColumnValues values);

  /// A row of a matrix of the same columns against the ranks below `limit`.
  [[nodiscard]] kernels::PairPass<Rank> pass(const CsrView& queries, Index query,
                                             Index limit) const;

 private:
  void mask_heads(const Array<Rank>& all);

  Array<kernels::ColumnStart> starts_;  ///< cols + 1
  Array<std::uint16_t> masks_;
  Array<Rank> ranks_;
  Array<float> values_;  ///< where they are kept
};

}  // namespace likewise
