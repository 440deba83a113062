// SPDX-License-Identifier: Apache-2.0
/// Sums of ratings over the nearest rows of one row, for many columns at once: the rows are walked
/// from the most to the least similar, and each gives what it has to the columns that still ask.
#pragma once

#include <cstdint>
#include <span>

#include "likewise/types.h"

namespace likewise::kernels {

/// Columns that share a word of a mask.
constexpr Index kWordColumns = 64;

/// Where a part of a row begins.
struct WalkStart {
  Offset word = 0;
  Offset value = 0;
};

/// A matrix by row, its columns cut into blocks. Of a row only the words that hold something are
/// kept: bit b of a mask is column 64 word + b, and the values follow in the order of the columns.
struct WalkRows {
  const WalkStart* starts;  ///< of block b of row v: starts[v (blocks + 1) + b]
  Index blocks;
  const std::uint32_t* words;
  const std::uint64_t* masks;
  const float* values;
};

struct WeightedRow {
  Index row;
  float similarity;
};

/// What a column adds up, in the order of the rows.
struct WalkSums {
  double products = 0.0;  ///< sum s value
  double weights = 0.0;   ///< sum |s|
};

/// The columns' sums; those with a set bit in `open` ask for `left` more rows (1 or more).
struct WalkCells {
  WalkSums* sums;
  std::uint32_t* left;
  std::uint64_t* open;
};

/// Walks `near` in its order over one block of columns, until all of its `open_columns` columns are
/// closed. Products are exact, so the sums are the same on every instruction set.
void walk_block(const WalkRows& rows, Index block, std::span<const WeightedRow> near,
                Offset open_columns, const WalkCells& cells);

}  // namespace likewise::kernels
