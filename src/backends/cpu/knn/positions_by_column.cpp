// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/positions_by_column.h"

#include "core/linalg/scatter_columns.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

using kernels::ColumnStart;
using kernels::kGroup;

/// Measured: additions of listed ranks that take the time of a group's.
constexpr Offset kAdditionsOfGroup = 2;

struct Head {
  Offset groups = 0;
  Offset entries = 0;
};

/// The head that makes the column cheapest.
template <class Rank>
[[nodiscard]] Head choose_head(std::span<const Rank> ranks) {
  Head best;
  Offset least = 0;  // cost beside that of no head at all
  for (std::size_t e = 0; e < ranks.size(); ++e) {
    const auto group = static_cast<Index>(ranks[e]) / kGroup;
    if (e + 1 < ranks.size() && static_cast<Index>(ranks[e + 1]) / kGroup == group) continue;
    const auto entries = static_cast<Offset>(e) + 1;
    const Offset cost = (Offset{group} + 1) * kAdditionsOfGroup - entries;
    if (cost < least) {
      least = cost;
      best = {Offset{group} + 1, entries};
    }
  }
  return best;
}

}  // namespace

template <class Rank>
PositionsByColumn<Rank>::PositionsByColumn(const CsrView& rows, std::span<const Index> order,
                                           ColumnHeads heads, ColumnValues values)
    : starts_(Offset{rows.cols} + 1) {
  const auto row_at = [&](Index rank) { return order[static_cast<std::size_t>(rank)]; };
  const ColumnScatter scatter(rows, row_at);
  for (Index c = 0; c <= rows.cols; ++c) {
    starts_[c] = {.values = scatter.begins()[c], .ranks = scatter.begins()[c], .masks = 0};
  }
  // One after the other, so that there is never more than what is kept in the end.
  ranks_ = Array<Rank>::uninitialized(rows.nnz());
  scatter.write_all([&](Offset to, Index rank, Offset) { ranks_[to] = static_cast<Rank>(rank); });
  if (heads == ColumnHeads::kMasked) mask_heads(std::exchange(ranks_, {}));
  if (values == ColumnValues::kOnes) return;
  values_ = Array<float>::uninitialized(rows.nnz() + kGroup - 1);
  std::fill(values_.begin() + rows.nnz(), values_.end(), 0.0F);
  scatter.write_all([&](Offset to, Index, Offset entry) { values_[to] = rows.values[entry]; });
}

template <class Rank>
void PositionsByColumn<Rank>::mask_heads(const Array<Rank>& all) {
  const Offset cols = starts_.size() - 1;
  const auto ranks_of = [&](Offset c) {
    return all.span().subspan(static_cast<std::size_t>(starts_[c].values),
                              static_cast<std::size_t>(starts_[c + 1].values - starts_[c].values));
  };
  parallel_for(cols, 256, [&](Offset c) {
    const Head head = choose_head(ranks_of(c));
    starts_[c].masks = head.groups;
    starts_[c].ranks = starts_[c + 1].values - starts_[c].values - head.entries;
  });
  ColumnStart next;
  for (Offset c = 0; c <= cols; ++c) {
    const ColumnStart size = std::exchange(starts_[c], next);
    starts_[c].values = size.values;
    next.masks += size.masks;
    next.ranks += size.ranks;
  }
  masks_ = Array<std::uint16_t>(starts_[cols].masks);
  ranks_ = Array<Rank>::uninitialized(starts_[cols].ranks);
  parallel_for(cols, 256, [&](Offset c) {
    const auto ranks = ranks_of(c);
    const auto listed = static_cast<std::size_t>(starts_[c + 1].ranks - starts_[c].ranks);
    for (const Rank rank : ranks.first(ranks.size() - listed)) {
      const auto r = static_cast<Index>(rank);
      masks_[starts_[c].masks + r / kGroup] |= static_cast<std::uint16_t>(1U << (r % kGroup));
    }
    std::ranges::copy(ranks.last(listed), ranks_.data() + starts_[c].ranks);
  });
}

template <class Rank>
kernels::PairPass<Rank> PositionsByColumn<Rank>::pass(const CsrView& queries, Index query,
                                                      Index limit) const {
  return {queries.columns + queries.offsets[query],
          queries.values + queries.offsets[query],
          queries.row_size(query),
          starts_.data(),
          masks_.data(),
          ranks_.data(),
          values_.size() == 0 ? nullptr : values_.data(),
          limit};
}

template class PositionsByColumn<std::uint16_t>;
template class PositionsByColumn<Index>;

}  // namespace likewise
