// SPDX-License-Identifier: Apache-2.0
/// The numbers of one side while SGD runs: rows in the order of the grid, so that those of a block
/// lie together.
#pragma once

#include <span>

#include "algorithms/sgd/grid.h"
#include "backends/cpu/kernels/sgd_steps.h"
#include "likewise/factors.h"
#include "likewise/matrix.h"

namespace likewise {

/// Rows [first, end) of a side, by their new numbers.
struct SgdRange {
  Side side = Side::kUsers;
  Index first = 0;
  Index end = 0;

  [[nodiscard]] Index rows() const { return end - first; }
};

struct SgdTable {
  SgdRange range;
  Matrix factors;
  Array<float> bias;     ///< empty: there are none
  Array<float> squares;  ///< empty: not adaptive
  Array<float> decay;
  Array<float> bias_decay;

  /// Rows of `from`, with room for further pieces of long rows: `piece_of` says whose, counted from
  /// the first of the range.
  SgdTable(const SgdGrid& grid, const SgdRange& range, const SgdParams& params, const Factors& from,
           std::span<const Index> piece_of = {});

  /// Its rows, to where they belong.
  void store(const SgdGrid& grid, Factors& to) const;

  /// All pieces start where their row stands.
  void split(const SgdRowEntries& lines);
  /// Rows end where their pieces do on average, with the squares of all. `start`: the squares that
  /// each began with.
  void join(const SgdRowEntries& lines, std::span<const SgdPieces> long_rows,
            std::span<const float> start);

  /// For kernels; row 0 is the first of the range.
  [[nodiscard]] kernels::SgdRows rows();

  /// terms[r] = lambda count^nu (|x|^2 + b^2) of each row.
  void regularization(const SgdGrid& grid, std::span<double> terms) const;
};

[[nodiscard]] inline const SgdSide& side_of(const SgdGrid& grid, Side side) {
  return side == Side::kUsers ? grid.users : grid.items;
}

}  // namespace likewise
