// SPDX-License-Identifier: Apache-2.0
#include "algorithms/knn/data_defaults.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "algorithms/row_counts.h"

namespace likewise {
namespace {

/// The constants of math.md, "Values that suit the data", as they stand there.
constexpr double kKnnEntries = 2000.0;
constexpr double kFewestNeighbours = 60.0;
constexpr double kMostNeighbours = 200.0;
constexpr double kShrinkage = 20.0;
constexpr double kEnoughEntries = 190.0;

/// What the rules look at.
struct Shape {
  double of_user = 0.0;  ///< mean entries
  double of_item = 0.0;  ///< mean entries
  PopularitySpread spread;
};
[[nodiscard]] Shape shape_of(const CsrView& by_user) {
  RowCounts counts = counts_of_rows_with_entries(by_user);
  const SideCounts users = of_side(std::move(counts.of_users), by_user.nnz());
  const SideCounts items = of_side(std::move(counts.of_items), by_user.nnz());
  return {users.mean, items.mean, spread_of(items.counts)};
}

/// K = 2000 / c_u, at least 60 and at most 200.
[[nodiscard]] int default_neighbours(const Shape& shape) {
  const double data_defaults = kKnnEntries / shape.of_user;
  return static_cast<int>(
      std::lround(std::clamp(data_defaults, kFewestNeighbours, kMostNeighbours)));
}

/// bm25 where many items are equally popular and histories are not long: of items where these are
/// most of all, of users where they are not.
[[nodiscard]] Similarity default_similarity(const Shape& shape, Side side) {
  if (!shape.spread.is_of_many() || shape.of_user >= kLongHistory) return Similarity::kTfidf;
  return shape.spread.is_flat() == (side == Side::kItems) ? Similarity::kBm25 : Similarity::kTfidf;
}

/// Whether means of sums are better than sums.
[[nodiscard]] bool means_suit(const Shape& shape) {
  return shape.of_user * shape.of_item >= kEnoughEntries && shape.spread.is_of_many();
}

}  // namespace

KnnParams data_defaults(const CsrView& by_user, KnnParams params, const KnnGiven& given) {
  if (params.feedback == Feedback::kExplicit || params.prediction != Prediction::kSum) {
    return params;
  }
  const Shape shape = shape_of(by_user);
  if (!given.similarity) params.similarity = default_similarity(shape, params.side);
  // Of similarities whose two directions differ the other one is far worse.
  const bool one_way =
      params.similarity == Similarity::kConditional || params.similarity == Similarity::kRp3;
  const bool chooses_lists = !given.sum_lists && !one_way;
  if (params.side == Side::kUsers) {
    if (!given.neighbours) params.neighbours = default_neighbours(shape);
    if (chooses_lists) params.sum_lists = SumLists::kBoth;
    return params;
  }
  // Products are of values that are weights already, or of probabilities.
  const bool weighted =
      params.similarity == Similarity::kDot || params.similarity == Similarity::kRp3;
  if (!given.shrinkage && !weighted) params.shrinkage = kShrinkage;
  const bool own = !given.sum_lists || params.sum_lists == SumLists::kOwn;
  if (!given.sum_scale && own && means_suit(shape)) params.sum_scale = SumScale::kMean;
  if (chooses_lists && params.sum_scale != SumScale::kMean) params.sum_lists = SumLists::kReverse;
  return params;
}

}  // namespace likewise
