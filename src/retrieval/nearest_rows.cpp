// SPDX-License-Identifier: Apache-2.0
#include "retrieval/nearest_rows.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <utility>

#include "core/system/parallel.h"
#include "likewise/error.h"
#include "retrieval/knn_lists.h"

namespace likewise {
namespace {

struct Tied {
  Index common;
  Candidate one;
};

void sort_tied(std::span<const Index> columns, const CsrView& rows, std::span<Candidate> group) {
  std::vector<Tied> tied;
  tied.reserve(group.size());
  for (const Candidate& one : group) {
    tied.push_back({common_entries(columns, rows.row_columns(one.item)), one});
  }
  std::ranges::sort(tied, [](const Tied& a, const Tied& b) {
    return a.common != b.common ? a.common > b.common : a.one.item < b.one.item;
  });
  std::ranges::transform(tied, group.begin(), &Tied::one);
}

}  // namespace

Index common_entries(std::span<const Index> a, std::span<const Index> b) {
  Index common = 0;
  for (auto x = a.begin(), y = b.begin(); x != a.end() && y != b.end();) {
    if (*x == *y) ++common;
    const bool skip_y = *y <= *x;
    if (*x <= *y) ++x;
    if (skip_y) ++y;
  }
  return common;
}

std::size_t sort_nearest(std::span<const Index> columns, const CsrView& rows, std::size_t k,
                         std::span<Candidate> candidates) {
  if (k == 0) return 0;
  if (candidates.size() > k) {
    const auto last = candidates.begin() + static_cast<std::ptrdiff_t>(k) - 1;
    std::ranges::nth_element(candidates, last, before);
    const float worst = last->score;
    const auto tied = std::partition(last + 1, candidates.end(),
                                     [&](const Candidate& one) { return one.score == worst; });
    candidates = candidates.first(static_cast<std::size_t>(tied - candidates.begin()));
  }
  std::ranges::sort(candidates, before);
  const std::size_t kept = std::min(k, candidates.size());
  for (std::size_t begin = 0, end = 0; begin < kept; begin = end) {
    while (end < candidates.size() && candidates[end].score == candidates[begin].score) ++end;
    if (end - begin > 1) sort_tied(columns, rows, candidates.subspan(begin, end - begin));
  }
  return kept;
}

void keep_nearest(std::span<const Index> columns, const CsrView& rows, std::size_t k,
                  std::vector<Candidate>& candidates) {
  candidates.resize(sort_nearest(columns, rows, k, candidates));
}

bool are_ones(const CsrView& weights) {
  return std::all_of(weights.values, weights.values + weights.nnz(),
                     [](float value) { return value == 1.0F; });
}

TieRule tie_rule(const PairFormula& formula, const WeightedRows& rows) {
  // Of 2^22 entries, one more is a difference that float32 shows.
  constexpr Index kMostEntries = Index{1} << 22;
  const CsrView& weights = rows.weights;
  for (Index row = 0; row < weights.rows; ++row) {
    if (weights.row_size(row) > kMostEntries) return TieRule::kCount;
  }
  if (!are_ones(weights) || formula.amplification != 1.0) return TieRule::kCount;
  if (formula.form == PairForm::kDot && formula.shrinkage == 0.0) return TieRule::kSmallerRow;
  const bool by_length = formula.form == PairForm::kCosine || formula.form == PairForm::kJaccard;
  return by_length ? TieRule::kLongerRow : TieRule::kCount;
}

std::vector<Index> by_falling_length(const CsrView& rows) {
  std::vector<Index> order(static_cast<std::size_t>(rows.rows));
  std::iota(order.begin(), order.end(), Index{0});
  std::ranges::stable_sort(order,
                           [&](Index a, Index b) { return rows.row_size(a) > rows.row_size(b); });
  return order;
}

namespace {

/// The first k of every list, where others are as similar as the last of them: they are open.
class Settled {
 public:
  Settled(const CsrView& rows, const KnnLists& found, Index k)
      : rows_(rows),
        found_(found),
        k_(static_cast<std::size_t>(k)),
        lists_(knn_lists_of_sizes(found.size(), [&](Index row) { return kept(row).size(); })) {}

  /// Everything but what is as similar as the last of an open list.
  void take_known() {
    parallel_for(found_.size(), 64, [&](Offset r) {
      const auto row = static_cast<Index>(r);
      const auto similar = kept(row);
      std::vector<Candidate> list;
      for (std::size_t e = 0; e < known(row); ++e) {
        list.push_back({similar[e], found_.rows_of(row)[e]});
      }
      if (std::ranges::adjacent_find(similar) != similar.end()) {
        sort_nearest(rows_.row_columns(row), rows_, list.size(), list);
      }
      for (std::size_t e = 0; e < list.size(); ++e) put(row, e, list[e]);
    });
  }

  void take_tied(const FindTied& find_tied) {
    RowsWithTies ties;
    for (Index row = 0; row < found_.size(); ++row) {
      if (!is_open(row)) continue;
      ties.rows.push_back(row);
      ties.similarities.push_back(kept(row).back());
    }
    if (ties.rows.empty()) return;
    const std::vector<std::vector<Index>> tied = find_tied(ties);
    for (std::size_t i = 0; i < tied.size(); ++i) {
      const Index row = ties.rows[i];
      const std::size_t first = known(row);
      if (tied[i].size() < kept(row).size() - first) {
        throw Error(ErrorKind::kDevice, "similarities differ when they are computed again");
      }
      for (std::size_t e = first; e < kept(row).size(); ++e) {
        put(row, e, {ties.similarities[i], tied[i][e - first]});
      }
    }
  }

  [[nodiscard]] KnnLists lists() && { return std::move(lists_); }

 private:
  [[nodiscard]] std::span<const float> kept(Index row) const {
    const auto similar = found_.similarities_of(row);
    return similar.first(std::min(k_, similar.size()));
  }
  [[nodiscard]] bool is_open(Index row) const {
    const auto similar = found_.similarities_of(row);
    return similar.size() > k_ && k_ > 0 && similar[k_] == similar[k_ - 1];
  }
  /// How many stand before what is as similar as the last of an open list.
  [[nodiscard]] std::size_t known(Index row) const {
    const auto similar = kept(row);
    if (!is_open(row)) return similar.size();
    return static_cast<std::size_t>(std::ranges::find(similar, similar.back()) - similar.begin());
  }
  void put(Index row, std::size_t at, const Candidate& one) {
    const Offset to = lists_.offsets[row] + static_cast<Offset>(at);
    lists_.rows[to] = one.item;
    lists_.similarities[to] = one.score;
  }

  const CsrView& rows_;
  const KnnLists& found_;
  std::size_t k_;
  KnnLists lists_;
};

}  // namespace

KnnLists settle_ties(const CsrView& rows, const KnnLists& found, Index k,
                     const FindTied& find_tied) {
  Settled settled(rows, found, k);
  settled.take_known();
  settled.take_tied(find_tied);
  return std::move(settled).lists();
}

}  // namespace likewise
