// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>
#include <vector>

#include "algorithms/bpr/cells.h"
#include "algorithms/bpr/draw.h"
#include "algorithms/bpr/likes.h"
#include "algorithms/rows_with_entries.h"
#include "core/random.h"
#include "core/system/parallel.h"
#include "likewise/bpr.h"
#include "training/growth.h"

namespace likewise {
namespace {

/// The likes of a user, and what they score.
class UserHits {
 public:
  UserHits(const CsrView& by_user, const Factors& factors, Index user)
      : columns_(by_user.row_columns(user)),
        values_(by_user.row_values(user)),
        factors_(factors),
        x_(factors.users.row_span(user)) {}

  /// The range is of places in `items`.
  [[nodiscard]] BprHits count(const NegativeRange& range, std::span<const Index> items,
                              CounterRandom random) const {
    const auto item_at = [&](Index place) { return items[static_cast<std::size_t>(place)]; };
    BprHits hits;
    for (std::size_t e = 0; e < columns_.size(); ++e) {
      if (!(values_[e] > 0.0F)) continue;
      const Index other = draw_unknown(
          range, [&](Index place) { return likes(item_at(place)); }, random);
      hits.skipped += other < 0 ? 1 : 0;
      hits.correct += other >= 0 && score(columns_[e]) > score(item_at(other)) ? 1 : 0;
    }
    return hits;
  }

 private:
  [[nodiscard]] bool likes(Index item) const {
    const auto found = std::ranges::lower_bound(columns_, item);
    return found != columns_.end() && *found == item &&
           values_[static_cast<std::size_t>(found - columns_.begin())] > 0.0F;
  }
  [[nodiscard]] float score(Index item) const {
    const std::span<const float> y = factors_.items.row_span(item);
    const float bias = factors_.item_bias.empty() ? 0.0F : factors_.item_bias[item];
    return std::inner_product(x_.begin(), x_.end(), y.begin(), bias);
  }

  std::span<const Index> columns_;
  std::span<const float> values_;
  const Factors& factors_;
  std::span<const float> x_;
};

}  // namespace

BprHits sample_hits(const CsrView& by_user, const Factors& factors, const BprParams& params,
                    int epoch) {
  const std::vector<Index> items = RowsWithEntries(by_user).of(Side::kItems);
  NegativeRange range{0, static_cast<Index>(items.size()), nullptr, tries_of(params)};
  PopularItems popular;
  if (params.negatives == BprNegatives::kPopular) {
    popular = PopularItems(0, like_counts(columns_of(by_user, items).view()));
    range.popular = &popular;
  }
  std::vector<BprHits> of_users(static_cast<std::size_t>(by_user.rows));
  parallel_for(by_user.rows, 64, [&](Offset u) {
    const auto row = static_cast<std::uint64_t>(epoch) * static_cast<std::uint64_t>(by_user.rows) +
                     static_cast<std::uint64_t>(u);
    of_users[static_cast<std::size_t>(u)] =
        UserHits(by_user, factors, static_cast<Index>(u))
            .count(range, items, CounterRandom(params.seed, kStreamBprHits, row));
  });
  BprHits all;
  for (const BprHits& one : of_users) {
    all.correct += one.correct;
    all.skipped += one.skipped;
  }
  return all;
}

}  // namespace likewise
