// SPDX-License-Identifier: Apache-2.0
/// Sums over the columns that one row has in common with many others, all at once: the row's
/// columns are walked in their order, and every other row with an entry there gets its share.
#pragma once

#include "likewise/types.h"

namespace likewise::kernels {

/// One row against the rows below `limit`, in a matrix sorted by column.
struct PairPass {
  const Index* columns;  ///< of the row
  const float* values;
  Offset count;
  const Offset* column_offsets;  ///< of the matrix
  const Index* rows;             ///< rising within a column
  const float* row_values;
  Index limit;
};

/// Adds to sums[r] the product of the row and row r.
void add_products(const PairPass& pass, float* sums);
void add_products(const PairPass& pass, double* sums);

/// Adds n, sum a^2, sum b^2, sum a b to the four numbers from sums[4 r] on.
void add_squares(const PairPass& pass, float* sums);
void add_squares(const PairPass& pass, double* sums);

/// Adds n, sum a, sum b, sum a^2, sum b^2, sum a b to the eight numbers from sums[8 r] on (two stay
/// 0).
void add_all(const PairPass& pass, float* sums);
void add_all(const PairPass& pass, double* sums);

}  // namespace likewise::kernels
