// SPDX-License-Identifier: Apache-2.0
#include "algorithms/neighbours/suited.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "algorithms/row_counts.h"

namespace likewise {
namespace {

/// The constants of docs/math.md, "Values that suit the data", as they stand there.
constexpr double kNeighbourEntries = 2000.0;
constexpr double kFewestNeighbours = 60.0;
constexpr double kMostNeighbours = 200.0;
constexpr double kShrinkage = 20.0;
constexpr double kEnoughEntries = 190.0;

[[nodiscard]] double users_with_entries(const CsrView& by_user) {
  double users = 0.0;
  for (Index u = 0; u < by_user.rows; ++u) users += by_user.row_size(u) > 0 ? 1.0 : 0.0;
  return users;
}

/// K = 2000 / c_u, at least 60 and at most 200.
[[nodiscard]] int suited_neighbours(const CsrView& by_user) {
  const double of_user =
      static_cast<double>(by_user.nnz()) / std::max(1.0, users_with_entries(by_user));
  return static_cast<int>(std::lround(
      std::clamp(kNeighbourEntries / std::max(1.0, of_user), kFewestNeighbours, kMostNeighbours)));
}

/// Whether means of sums are better than sums.
[[nodiscard]] bool means_suit(const CsrView& by_user) {
  const std::vector<Offset> of_items = column_counts(by_user);
  const auto items = static_cast<double>(of_items.size()) -
                     static_cast<double>(std::ranges::count(of_items, Offset{0}));
  const auto entries = static_cast<double>(by_user.nnz());
  // c_u c_i = N / m * N / n
  const bool enough = entries * entries >= kEnoughEntries * users_with_entries(by_user) * items;
  return enough && even_items(of_items) > kManyItems;
}

}  // namespace

NeighbourParams suited(const CsrView& by_user, NeighbourParams params,
                       const NeighboursGiven& given) {
  if (params.feedback == Feedback::kExplicit || params.prediction != Prediction::kSum) {
    return params;
  }
  // Of similarities whose two directions differ the other one is far worse.
  const bool chooses_lists = !given.sum_lists && params.similarity != Similarity::kConditional;
  if (params.side == Side::kUsers) {
    if (!given.neighbours) params.neighbours = suited_neighbours(by_user);
    if (chooses_lists) params.sum_lists = SumLists::kBoth;
    return params;
  }
  // Products are of values that are weights already.
  if (!given.shrinkage && params.similarity != Similarity::kDot) params.shrinkage = kShrinkage;
  const bool own = !given.sum_lists || params.sum_lists == SumLists::kOwn;
  if (!given.sum_scale && own && means_suit(by_user)) params.sum_scale = SumScale::kMean;
  if (chooses_lists && params.sum_scale != SumScale::kMean) params.sum_lists = SumLists::kReverse;
  return params;
}

}  // namespace likewise
