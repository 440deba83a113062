// SPDX-License-Identifier: Apache-2.0
/// The order in which an epoch of BPR takes its likes, for processors.
///
/// In turn t user stripe (m + t) mod stripes meets pair m of item stripes: cells of a turn share no
/// user and no item, and are done at the same time.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "algorithms/bpr/draw.h"
#include "algorithms/bpr/stripe_pairs.h"
#include "algorithms/sgd/grid.h"
#include "core/random.h"
#include "likewise/bpr.h"

namespace likewise {

/// Stripes for this many users and items: 1 or even.
[[nodiscard]] Index bpr_stripes(const SgdShape& shape, const BprParams& params);

/// The likes in item stripes that are as likely as each other to be drawn from: of equal numbers of
/// items, or with popular negatives of equal numbers of likes. Then no item makes up more than half
/// of its stripe, so that who likes it finds another one there. `item_counts`: the likes of each
/// item in the whole; empty: these.
[[nodiscard]] SgdGrid make_bpr_grid(const CsrView& likes, const BprParams& params,
                                    std::span<const Offset> item_counts);

/// The likes of users of a stripe in item stripe `positives`; negatives come from `negatives`.
struct BprCell {
  Index users = 0;
  Index positives = 0;
  Index negatives = 0;
};

/// The one or two cells of pair `m` in a turn.
[[nodiscard]] std::vector<BprCell> cells_of(const SgdGrid& grid, const StripePair& pair, Index m,
                                            Index turn);

/// What a cell draws from: a stream of its own.
[[nodiscard]] CounterRandom cell_random(const BprParams& params, const SgdGrid& grid, int epoch,
                                        const BprCell& cell);

/// Of each item stripe: what popular negatives are drawn from, by new numbers.
[[nodiscard]] std::vector<PopularItems> popular_items(const SgdGrid& grid);

/// Flags of items by their new numbers.
[[nodiscard]] std::vector<std::uint8_t> in_grid_order(std::span<const std::uint8_t> by_item,
                                                      const SgdGrid& grid);

/// Draws at most for a like.
[[nodiscard]] int tries_of(const BprParams& params);

/// Where a cell's negatives come from; `popular` is empty where they are uniform. Nothing can be
/// drawn from an empty range.
[[nodiscard]] NegativeRange negatives_of(const BprParams& params, const SgdGrid& grid,
                                         const BprCell& cell,
                                         const std::vector<PopularItems>& popular);

}  // namespace likewise
