// SPDX-License-Identifier: Apache-2.0
#include "retrieval/nearest_rows.h"

#include <algorithm>
#include <iterator>
#include <numeric>

#include "core/system/parallel.h"
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

KnnLists settle_ties(const CsrView& rows, const KnnLists& found, Index k,
                     const FindTied& find_tied) {
  const auto kept = static_cast<std::size_t>(k);
  std::vector<std::vector<Candidate>> lists(static_cast<std::size_t>(found.size()));
  std::vector<char> open(lists.size());
  parallel_for(found.size(), 64, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    const auto similar = found.similarities_of(row);
    std::vector<Candidate>& list = lists[static_cast<std::size_t>(r)];
    for (std::size_t e = 0; e < similar.size(); ++e) {
      list.push_back({similar[e], found.rows_of(row)[e]});
    }
    if (list.size() > kept && kept > 0 && list[kept].score == list[kept - 1].score) {
      open[static_cast<std::size_t>(r)] = 1;
      const float last = list.back().score;
      std::erase_if(list, [&](const Candidate& one) { return one.score == last; });
    }
    keep_nearest(rows.row_columns(row), rows, kept, list);
  });
  RowsWithTies ties;
  for (Index row = 0; row < found.size(); ++row) {
    if (open[static_cast<std::size_t>(row)] == 0) continue;
    ties.rows.push_back(row);
    ties.similarities.push_back(found.similarities_of(row).back());
  }
  if (!ties.rows.empty()) {
    const std::vector<std::vector<Index>> tied = find_tied(ties);
    for (std::size_t i = 0; i < ties.rows.size(); ++i) {
      std::vector<Candidate>& list = lists[static_cast<std::size_t>(ties.rows[i])];
      for (const Index other : tied[i]) {
        if (list.size() < kept) list.push_back({ties.similarities[i], other});
      }
    }
  }
  return pack_knn_lists(found.size(), [&](Index row) {
    return std::span<const Candidate>(lists[static_cast<std::size_t>(row)]);
  });
}

}  // namespace likewise
