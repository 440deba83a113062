// SPDX-License-Identifier: Apache-2.0
/// The ratings in the order in which SGD takes them.
///
/// Users and items get new numbers at random and are cut into as many stripes each, of about equal
/// numbers of ratings. The ratings of user stripe p and item stripe q are block (p, q). In turn t
/// the blocks (p, (p + t) mod stripes) of all p are done: they share no row and no column.
/// (Gemulla et al., "Large-scale matrix factorization with distributed stochastic gradient
/// descent", KDD 2011.)
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/sgd/setup.h"
#include "likewise/array.h"
#include "likewise/csr.h"
#include "likewise/types.h"

namespace likewise {

/// A rating, by new numbers.
struct SgdEntry {
  Index user = 0;
  Index item = 0;
  float value = 0.0F;
};

/// One side of the matrix in its new order.
struct SgdSide {
  Array<Index> row;          ///< [new number] -> row (or column) of the matrix
  Array<Offset> count;       ///< [new number] -> its entries, those of SgdWhole where it says
  std::vector<Index> begin;  ///< stripe s has the new numbers [begin[s], begin[s + 1])
};

/// Ratings block by block.
struct SgdBlocks {
  Index stripes = 0;
  std::vector<Offset> begin;  ///< of block p * stripes + q; one more at the end
  Array<SgdEntry> entries;    ///< block by block; within a block by user

  [[nodiscard]] std::span<const SgdEntry> block(Index p, Index q) const {
    const auto at = static_cast<std::size_t>(p) * static_cast<std::size_t>(stripes) +
                    static_cast<std::size_t>(q);
    return entries.span().subspan(static_cast<std::size_t>(begin[at]),
                                  static_cast<std::size_t>(begin[at + 1] - begin[at]));
  }
};

struct SgdGrid : SgdBlocks {
  SgdSide users;
  SgdSide items;

  /// The item stripe of user stripe p in a turn.
  [[nodiscard]] Index item_stripe(Index p, Index turn) const { return (p + turn) % stripes; }
};

/// The entries of one side's rows, for SgdOrder::kAlternating. A row with more than kSgdPiece of
/// them is moved in pieces of about equal size, at the same time and all from where the row stands;
/// it ends where they end on average (Zinkevich et al. 2010). So no row holds up the others.
struct SgdRowEntries {
  /// Lines [0, rows) are the rows in the order of their new numbers, or their first pieces; the
  /// others are further pieces, those of a row one after the other.
  std::vector<Offset> begin;  ///< line l has entries [begin[l], begin[l + 1])
  Array<SgdEntry> entries;    ///< `user` is the line and `item` is in the other side, for items too
  std::vector<Index> piece_of;  ///< [line - rows] -> row

  [[nodiscard]] Index lines() const { return static_cast<Index>(begin.size()) - 1; }
  [[nodiscard]] Index rows() const { return lines() - static_cast<Index>(piece_of.size()); }
  [[nodiscard]] Offset size(Index line) const {
    return begin[static_cast<std::size_t>(line) + 1] - begin[static_cast<std::size_t>(line)];
  }
};
inline constexpr Offset kSgdPiece = 2048;
[[nodiscard]] SgdRowEntries entries_by_row(const SgdGrid& grid, Side side);

/// The further pieces of one row: lines [first, last).
struct SgdPieces {
  Index row = 0;
  Index first = 0;
  Index last = 0;
  Offset entries = 0;  ///< of all, that in the row's own line included
};
/// Of all rows that have some.
[[nodiscard]] std::vector<SgdPieces> pieces_of(const SgdRowEntries& rows);

/// How many stripes processors take: a pure function of its arguments, so that the result of a
/// training does not depend on the machine.
[[nodiscard]] Index sgd_stripes(const SgdShape& shape, const SgdParams& params);

/// A pure function of its arguments. `stripes` is at least 1.
[[nodiscard]] SgdGrid make_sgd_grid(const CsrView& by_user, Index stripes, std::uint64_t seed,
                                    const SgdWhole& whole = {});

/// The same with item stripes of about equal `item_weights`, and of about equal numbers of ratings
/// as far as that leaves them to choose. No stripe is empty where there are as many items.
[[nodiscard]] SgdGrid make_weighted_grid(const CsrView& by_user, Index stripes, std::uint64_t seed,
                                         const SgdWhole& whole,
                                         std::span<const Offset> item_weights);

/// Another matrix of the same rows and columns, in the blocks of a grid.
[[nodiscard]] SgdBlocks cut_like(const SgdGrid& grid, const CsrView& by_user);

}  // namespace likewise
