// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/cells.h"

#include <algorithm>
#include <numeric>

#include "likewise/matrix.h"

namespace likewise {
namespace {

/// Two item stripes are in use at a time: a quarter of a core's L2 cache each.
constexpr Offset kStripeBytes = Offset{256} << 10;
/// Half as many threads find work.
constexpr Index kFewestStripes = 32;
constexpr Index kMostStripes = 1024;
/// Rows that a stripe has at least, so that there are items to draw.
constexpr Index kFewestRows = 16;
/// What an item has of its stripe's likes, at most, where they decide what is drawn.
constexpr double kMostOfAStripe = 0.5;

[[nodiscard]] Index one_or_even(Index stripes) { return stripes < 2 ? 1 : stripes / 2 * 2; }

}  // namespace

Index bpr_stripes(const SgdShape& shape, const BprParams& params) {
  const Offset bytes = Offset{shape.items} * padded_stride(params.factors) * Offset{sizeof(float)};
  const Offset wanted =
      std::clamp<Offset>((bytes + kStripeBytes - 1) / kStripeBytes, kFewestStripes, kMostStripes);
  const Offset most = std::min(shape.users, shape.items) / kFewestRows;
  return one_or_even(static_cast<Index>(std::min(wanted, most)));
}

SgdGrid make_bpr_grid(const CsrView& likes, const BprParams& params,
                      std::span<const Offset> item_counts) {
  Index stripes = bpr_stripes({likes.rows, likes.cols, likes.nnz()}, params);
  std::vector<Offset> weights(static_cast<std::size_t>(likes.cols), 1);
  if (params.negatives == BprNegatives::kPopular && likes.cols > 0) {
    weights = item_counts.empty() ? entry_counts(likes, Side::kItems)
                                  : std::vector<Offset>(item_counts.begin(), item_counts.end());
    const auto all =
        static_cast<double>(std::accumulate(weights.begin(), weights.end(), Offset{0}));
    const auto most = static_cast<double>(std::max(Offset{1}, std::ranges::max(weights)));
    const double fitting = kMostOfAStripe * all / most;
    if (fitting < stripes) stripes = one_or_even(static_cast<Index>(fitting));
  }
  return make_weighted_grid(likes, stripes, params.seed, {{}, item_counts, {}}, weights);
}

std::vector<BprCell> cells_of(const SgdGrid& grid, const StripePair& pair, Index m, Index turn) {
  const Index users = (m + turn) % grid.stripes;
  std::vector<BprCell> cells{{users, pair.first, pair.second}};
  if (pair.first != pair.second) cells.push_back({users, pair.second, pair.first});
  return cells;
}

CounterRandom cell_random(const BprParams& params, const SgdGrid& grid, int epoch,
                          const BprCell& cell) {
  const auto stripes = static_cast<std::uint64_t>(grid.stripes);
  const auto block =
      static_cast<std::uint64_t>(cell.users) * stripes + static_cast<std::uint64_t>(cell.positives);
  return {params.seed, kStreamBprNegatives,
          static_cast<std::uint64_t>(epoch) * stripes * stripes + block};
}

std::vector<PopularItems> popular_items(const SgdGrid& grid) {
  std::vector<PopularItems> stripes;
  const std::span<const Offset> counts = grid.items.count.span();
  for (std::size_t q = 0; q + 1 < grid.items.begin.size(); ++q) {
    const Index first = grid.items.begin[q];
    const Index last = grid.items.begin[q + 1];
    stripes.emplace_back(first, counts.subspan(static_cast<std::size_t>(first),
                                               static_cast<std::size_t>(last - first)));
  }
  return stripes;
}

std::vector<std::uint8_t> in_grid_order(std::span<const std::uint8_t> by_item,
                                        const SgdGrid& grid) {
  std::vector<std::uint8_t> flags;
  for (const Index item : grid.items.row) flags.push_back(by_item[static_cast<std::size_t>(item)]);
  return flags;
}

int tries_of(const BprParams& params) {
  return params.liked_draws == BprLikedDraws::kSkip ? 1 : NegativeRange{}.tries;
}

NegativeRange negatives_of(const BprParams& params, const SgdGrid& grid, const BprCell& cell,
                           const std::vector<PopularItems>& popular) {
  const auto stripe = static_cast<std::size_t>(cell.negatives);
  NegativeRange range{grid.items.begin[stripe], grid.items.begin[stripe + 1], nullptr,
                      tries_of(params)};
  if (popular.empty()) return range;
  if (popular[stripe].empty()) return {};
  range.popular = &popular[stripe];
  return range;
}

}  // namespace likewise
