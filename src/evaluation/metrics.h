// SPDX-License-Identifier: Apache-2.0
/// The formulas of metrics.md, one function each. Everything is summed in double precision.
#pragma once

#include <span>

#include "likewise/types.h"

namespace likewise {

/// One user's ranked list as the list metrics see it. Its length may be below k (the filters left
/// fewer items): the missing places are misses.
struct RankedList {
  std::span<const Index> items;        ///< best first
  std::span<const std::uint8_t> hits;  ///< beside `items`: 1 where the item is relevant
  Offset relevant = 0;                 ///< how many items are relevant to the user, >= 1
  std::span<const float> popularity;   ///< per item of the catalogue: share of users who have it
};

/// A metric of the first k >= 1 places.
using ListMetric = double (*)(const RankedList&, Index k);

[[nodiscard]] double precision_at(const RankedList& list, Index k);
[[nodiscard]] double recall_at(const RankedList& list, Index k);
[[nodiscard]] double truncated_recall_at(const RankedList& list, Index k);
[[nodiscard]] double hit_rate_at(const RankedList& list, Index k);
[[nodiscard]] double average_precision_at(const RankedList& list, Index k);
[[nodiscard]] double reciprocal_rank_at(const RankedList& list, Index k);
[[nodiscard]] double ndcg_at(const RankedList& list, Index k);
[[nodiscard]] double popularity_at(const RankedList& list, Index k);

/// The chance that a relevant item scores above another one. `relevant` must be sorted, smallest
/// first. 1/2 where one side is empty: nothing was put in order.
[[nodiscard]] double auc(std::span<const float> relevant, std::span<const float> others);

/// Sums of errors over (predicted, actual) pairs; parts are added in a fixed order.
struct RatingErrors {
  double squares = 0.0;
  double absolutes = 0.0;
  Offset count = 0;

  RatingErrors& operator+=(const RatingErrors& part);
  [[nodiscard]] double rmse() const;
  [[nodiscard]] double mae() const;
};
[[nodiscard]] RatingErrors rating_errors(std::span<const float> predicted,
                                         std::span<const float> actual);

}  // namespace likewise
