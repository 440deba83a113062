// SPDX-License-Identifier: Apache-2.0
#include "serving/sum_pairs.h"

#include <algorithm>
#include <cmath>

#include "algorithms/rows_with_entries.h"
#include "retrieval/knn_lists.h"

namespace likewise {
namespace {

/// Whom every row meets: those that have it in their list, and with `both` those in its own, too,
/// with the similarity of its own list.
[[nodiscard]] KnnLists turned(const KnnLists& lists, bool both) {
  std::vector<std::vector<Candidate>> met(static_cast<std::size_t>(lists.size()));
  for (Index y = 0; y < lists.size(); ++y) {
    const auto near = lists.rows_of(y);
    for (std::size_t e = 0; e < near.size(); ++e) {
      if (both && std::ranges::find(lists.rows_of(near[e]), y) != lists.rows_of(near[e]).end()) {
        continue;
      }
      met[static_cast<std::size_t>(near[e])].push_back({lists.similarities_of(y)[e], y});
    }
  }
  for (Index x = 0; both && x < lists.size(); ++x) {
    for (std::size_t e = 0; e < lists.rows_of(x).size(); ++e) {
      met[static_cast<std::size_t>(x)].push_back(
          {lists.similarities_of(x)[e], lists.rows_of(x)[e]});
    }
  }
  for (std::vector<Candidate>& one : met) std::ranges::sort(one, before);
  return pack_knn_lists(lists.size(), [&](Index row) {
    return std::span<const Candidate>(met[static_cast<std::size_t>(row)]);
  });
}

/// Of each column over the rows that have entries, a missing cell counting as 0.
[[nodiscard]] std::vector<double> column_means(const CsrView& rows) {
  std::vector<double> means(static_cast<std::size_t>(rows.cols));
  for (Offset e = 0; e < rows.nnz(); ++e) {
    means[static_cast<std::size_t>(rows.columns[e])] += double{rows.values[e]};
  }
  const Index all = std::max<Index>(1, RowsWithEntries(rows).count(Side::kUsers));
  for (double& mean : means) mean /= all;
  return means;
}

}  // namespace

SumPairs::SumPairs(const KnnLists& lists, const CsrView& by_user, const KnnParams& params)
    : lists_(lists), own_(params.sum_lists == SumLists::kOwn) {
  if (!own_) made_ = turned(lists, params.sum_lists == SumLists::kBoth);
  if (params.side == Side::kItems && params.sum_scale != SumScale::kNone) {
    scale(by_user, params.sum_scale == SumScale::kOffset);
  }
}

void SumPairs::scale(const CsrView& by_user, bool about_means) {
  divisors_.resize(static_cast<std::size_t>(lists_.size()));
  if (about_means) offsets_ = column_means(by_user);
  const std::vector<double> means = offsets_;
  for (Index i = 0; i < lists_.size(); ++i) {
    const auto row = static_cast<std::size_t>(i);
    double off = 0.0;
    for (std::size_t e = 0; e < lists_.rows_of(i).size(); ++e) {
      const double s = lists_.similarities_of(i)[e];
      divisors_[row] += std::abs(s);
      if (about_means) off += s * means[static_cast<std::size_t>(lists_.rows_of(i)[e])];
    }
    if (about_means && divisors_[row] > 0.0) offsets_[row] -= off / divisors_[row];
  }
}

}  // namespace likewise
