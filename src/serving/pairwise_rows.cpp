// SPDX-License-Identifier: Apache-2.0
#include "serving/pairwise_rows.h"

#include <algorithm>
#include <numeric>

#include <fmt/format.h>

#include "algorithms/rows_with_entries.h"
#include "core/random.h"
#include "likewise/error.h"
#include "serving/logistic_problem.h"

namespace likewise {
namespace {

[[noreturn]] void refuse_row(const std::string& message) {
  throw Error(ErrorKind::kInvalidArgument, message);
}

[[nodiscard]] std::vector<Index> likes_of(const FoldInRow& row) {
  std::vector<Index> likes;
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    if (row.values.empty() || row.values[e] > 0.0F) likes.push_back(row.columns[e]);
  }
  std::ranges::sort(likes);
  return likes;
}

}  // namespace

PairwiseRows::PairwiseRows(const Factors& factors, const BprParams& params, const CsrView& history)
    : factors_(factors),
      params_(params),
      before_(static_cast<std::size_t>(factors.items.rows()) + 1, 0) {
  if (params.negatives == BprNegatives::kUniform) {
    for (const Index item : rows_learned_from(history, factors, Side::kItems)) {
      before_[static_cast<std::size_t>(item) + 1] = 1;
    }
    std::partial_sum(before_.begin(), before_.end(), before_.begin());
    return;
  }
  if (history.rows == 0) {
    refuse_row(
        "new users of a model with popular negatives need its history, which says how often "
        "items are liked, and this one has none");
  }
  for (Offset e = 0; e < history.nnz(); ++e) {
    if (history.values[e] > 0.0F) ++before_[static_cast<std::size_t>(history.columns[e]) + 1];
  }
  std::partial_sum(before_.begin(), before_.end(), before_.begin());
}

std::vector<Index> PairwiseRows::negatives(std::span<const Index> likes) const {
  // Draws are numbered without those of the likes: left_before[k] come before the k-th like.
  std::vector<Offset> left_before;
  std::vector<Offset> skipped{0};
  for (const Index like : likes) {
    const auto item = static_cast<std::size_t>(like);
    left_before.push_back(before_[item] - skipped.back());
    skipped.push_back(skipped.back() + before_[item + 1] - before_[item]);
  }
  const Offset left = before_.back() - skipped.back();
  if (left == 0) {
    refuse_row(
        params_.negatives == BprNegatives::kUniform
            ? fmt::format("a row that likes all {} items: bpr compares likes with other items, "
                          "and there is none",
                          factors_.items.rows())
            : fmt::format("a row with {} likes: bpr compares them with other items that "
                          "somebody liked, and there is none",
                          likes.size()));
  }
  std::vector<Index> drawn;
  for (const Index like : likes) {
    CounterRandom random(params_.seed, kStreamFoldInNegatives, static_cast<std::uint64_t>(like));
    for (int n = 0; n < kNegatives; ++n) {
      const auto at = static_cast<Offset>(random.below(static_cast<std::uint64_t>(left)));
      const auto likes_before = std::ranges::upper_bound(left_before, at) - left_before.begin();
      const Offset number = at + skipped[static_cast<std::size_t>(likes_before)];
      const auto next = std::ranges::upper_bound(before_, number);
      drawn.push_back(static_cast<Index>(next - before_.begin()) - 1);
    }
  }
  return drawn;
}

std::vector<double> PairwiseRows::solve(const FoldInRow& row) const {
  const auto width = static_cast<std::size_t>(factors_.items.cols());
  if (row.columns.empty()) return std::vector<double>(width, 0.0);
  const std::vector<Index> likes = likes_of(row);
  if (likes.empty()) {
    refuse_row(fmt::format("a row with {} values of which none is above 0: bpr learns from likes",
                           row.columns.size()));
  }
  const std::vector<Index> negatives = this->negatives(likes);
  std::vector<Index> items = likes;
  items.insert(items.end(), negatives.begin(), negatives.end());
  std::ranges::sort(items);
  items.erase(std::unique(items.begin(), items.end()), items.end());
  LogisticProblem problem;
  problem.width = factors_.items.cols();
  problem.count = std::ssize(likes);
  for (const Index item : items) {
    const std::span<const float> y = factors_.items.row_span(item);
    problem.features.insert(problem.features.end(), y.begin(), y.end());
    problem.offsets.push_back(factors_.item_bias.empty() ? 0.0 : double{factors_.item_bias[item]});
  }
  const auto place = [&](Index item) {
    return static_cast<Index>(std::ranges::lower_bound(items, item) - items.begin());
  };
  for (std::size_t n = 0; n < negatives.size(); ++n) {
    problem.terms.push_back({place(likes[n / kNegatives]), place(negatives[n]), 1.0 / kNegatives});
  }
  problem.ridge.assign(width, static_cast<double>(likes.size()) * params_.regularization);
  return problem.minimum();
}

Explanation PairwiseRows::explain(const FoldInRow&, Index) const {
  refuse_row(
      "a score of bpr is no sum over what a user did, so there is nothing to explain it with: "
      "train als, item-knn, ease, spectral, or sgd with the squared loss");
}

}  // namespace likewise
