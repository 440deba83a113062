// SPDX-License-Identifier: Apache-2.0
/// A sparse matrix by column, its rows numbered by rank: the data of a search for neighbours, and
/// of X' X of EASE.
///
/// Where the popular rows come first, the head of a column is nearly full. There the additions of
/// 16 ranks are one of vectors, and the ranks take a mask of 16 bits, or a byte each that also says
/// the value where there are few different ones (ratings); only the rest of a column lists its
/// ranks.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "backends/cpu/kernels/pair_sums.h"
#include "backends/cpu/knn/few_values.h"
#include "likewise/array.h"
#include "likewise/csr.h"

namespace likewise {

enum class ColumnHeads { kListed, kGrouped };

/// Rank: std::uint16_t or Index.
template <class Rank>
class PositionsByColumn {
 public:
  /// `order`: rank -> row. `few`: the values there are, unless they are many or more than products
  /// is wanted.
  PositionsByColumn(const CsrView& rows, std::span<const Index> order, ColumnHeads heads,
                    const std::optional<FewValues>& few);

  /// A row of a matrix of the same columns against the ranks below `limit`.
  [[nodiscard]] kernels::PairPass<Rank> pass(const CsrView& queries, Index query,
                                             Index limit) const;

 private:
  /// Decides how many groups the head of each column has, whose ranks are all of these.
  void choose_heads(const Array<Rank>& all);
  /// Calls put_head(entry, place among those of all groups) for the entries of heads, and
  /// put_rest(entry, place among those listed) for the others, whose ranks it lists. Entries are
  /// numbered as in `all`.
  template <class PutHead, class PutRest>
  void divide(const Array<Rank>& all, const PutHead& put_head, const PutRest& put_rest);

  Array<kernels::ColumnStart> starts_;  ///< cols + 1
  Array<std::uint16_t> masks_;
  Array<std::uint8_t> codes_;  ///< in place of masks, where there are few values
  Array<float> code_values_;
  Array<Rank> ranks_;
  Array<float> values_;  ///< where they are kept; with codes those of the listed ranks
};

}  // namespace likewise
