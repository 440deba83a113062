// SPDX-License-Identifier: Apache-2.0
/// Ways to run ALS on a card, of which the fastest is found by measuring.
#pragma once

namespace likewise {

/// Which of the compiled kernels solve a training's rows on a card, and how the rows are dealt to
/// them. Tunings differ in their answers by rounding alone; with one and the same, training on one
/// card gives the same bits every time.
struct AlsTuning {
  int columns = 0;     ///< of the tables of factors: zeros fill them up to what a kernel takes
  int short_rows = 0;  ///< rows of at most this many interactions are solved without a matrix
  int one_warp = 0;    ///< of these, those of at most this many get one warp, the others two
  int piece = 4096;    ///< rows of more interactions are summed in pieces of at most as many
  bool wide =
      false;  ///< no block holds a row's matrix: the numbers above but `columns` mean nothing

  [[nodiscard]] bool operator==(const AlsTuning&) const = default;
};

}  // namespace likewise
