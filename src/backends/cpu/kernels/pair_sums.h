// SPDX-License-Identifier: Apache-2.0
/// Sums over the columns that one row has in common with many others, all at once: the row's
/// columns are walked in their order, and every other row with an entry there gets its share.
#pragma once

#include <cstdint>

#include "likewise/types.h"

namespace likewise::kernels {

/// Ranks that are added to at once.
constexpr Index kGroup = 16;
/// Values that numbers may stand for, with the 0 of no entry.
constexpr Index kCodes = 16;

/// Where a column begins among the values, the listed ranks and the groups of all columns.
struct ColumnStart {
  Offset values = 0;
  Offset ranks = 0;
  Offset groups = 0;
};

/// One row against the rows below `limit`, in a matrix sorted by column. The first ranks of a
/// column come in groups: as masks, bit r of mask g for rank 16 g + r, or, of a few different
/// values, as the numbers of their values. The others come as a rising list. Values are in the
/// order of the ranks, of the listed ones alone where there are codes, and none where all are 1
/// (products alone). Rank is std::uint16_t where it is enough: most of the time goes into waiting
/// for the columns.
template <class Rank>
struct PairPass {
  const Index* columns;  ///< of the row
  const float* values;
  Offset count;
  const ColumnStart* starts;  ///< of the matrix
  const std::uint16_t* masks;
  const std::uint8_t* codes;  ///< or nullptr; 16 of a group, 0 where there is no entry
  const float* code_values;   ///< kCodes of them, the first 0; 64-byte aligned
  const Rank* ranks;
  const float* rank_values;  ///< behind them are kGroup - 1 numbers that may be read
  Index limit;
};

/// Whether this processor adds up groups faster than lists. Where not, there must be none.
[[nodiscard]] bool groups_pay();

/// Adds to sums[r] the product of the row and row r. `sums`: 64-byte aligned, a multiple of 16 of
/// them.
template <class Rank, class Sum>
void add_products(const PairPass<Rank>& pass, Sum* sums);

/// Adds n, sum a^2, sum b^2, sum a b to the four numbers from sums[4 r] on. No masks here and
/// below.
template <class Rank, class Sum>
void add_squares(const PairPass<Rank>& pass, Sum* sums);

/// Adds n, sum a, sum b, sum a^2, sum b^2, sum a b to the eight numbers from sums[8 r] on (two stay
/// 0).
template <class Rank, class Sum>
void add_all(const PairPass<Rank>& pass, Sum* sums);

/// Which of `count` rows may have a place in their own list or in that of the row they are compared
/// with: the estimate sums[i] * factors[i] * factor is not 0 and reaches thresholds[i] or
/// threshold, give or take a millionth. Writes their numbers to `hits` (room for count + 16) and
/// returns how many.
template <class Sum>
Index find_offers(const Sum* sums, const Sum* factors, const float* thresholds, Index count,
                  Sum factor, float threshold, Index* hits);

}  // namespace likewise::kernels
