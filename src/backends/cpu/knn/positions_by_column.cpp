// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/knn/positions_by_column.h"

#include <algorithm>
#include <utility>

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
                                           ColumnHeads heads, const std::optional<FewValues>& few)
    : starts_(Offset{rows.cols} + 1) {
  const auto row_at = [&](Index rank) { return order[static_cast<std::size_t>(rank)]; };
  const ColumnScatter scatter(rows, row_at);
  for (Index c = 0; c <= rows.cols; ++c) {
    starts_[c] = {.values = scatter.begins()[c], .ranks = scatter.begins()[c], .groups = 0};
  }
  const bool ones = few && few->are_ones();
  const bool groups = heads == ColumnHeads::kGrouped;
  if (groups && few && !ones) {
    auto all = Array<Rank>::uninitialized(rows.nnz());
    auto codes = Array<std::uint8_t>::uninitialized(rows.nnz());
    scatter.write_all([&](Offset to, Index rank, Offset entry) {
      all[to] = static_cast<Rank>(rank);
      codes[to] = few->code(rows.values[entry]);
    });
    choose_heads(all);
    code_values_ = Array<float>::copy_of(few->by_code());
    codes_ = Array<std::uint8_t>(starts_[rows.cols].groups * kGroup);
    values_ = Array<float>::uninitialized(starts_[rows.cols].ranks);
    divide(
        all, [&](Offset from, Offset to) { codes_[to] = codes[from]; },
        [&](Offset from, Offset to) { values_[to] = code_values_[codes[from]]; });
    for (kernels::ColumnStart& start : starts_.span()) start.values = start.ranks;
    return;
  }
  // One after the other, so that there is never more than what is kept in the end.
  ranks_ = Array<Rank>::uninitialized(rows.nnz());
  scatter.write_all([&](Offset to, Index rank, Offset) { ranks_[to] = static_cast<Rank>(rank); });
  if (groups) {
    const Array<Rank> all = std::exchange(ranks_, {});
    choose_heads(all);
    masks_ = Array<std::uint16_t>(starts_[rows.cols].groups);
    divide(
        all,
        [&](Offset, Offset to) {
          masks_[to / kGroup] |= static_cast<std::uint16_t>(1U << (to % kGroup));
        },
        [](Offset, Offset) {});
  }
  if (ones) return;
  values_ = Array<float>::uninitialized(rows.nnz() + kGroup - 1);
  std::fill(values_.begin() + rows.nnz(), values_.end(), 0.0F);
  scatter.write_all([&](Offset to, Index, Offset entry) { values_[to] = rows.values[entry]; });
}

template <class Rank>
void PositionsByColumn<Rank>::choose_heads(const Array<Rank>& all) {
  const Offset cols = starts_.size() - 1;
  parallel_for(cols, 256, [&](Offset c) {
    const auto ranks =
        all.span().subspan(static_cast<std::size_t>(starts_[c].values),
                           static_cast<std::size_t>(starts_[c + 1].values - starts_[c].values));
    const Head head = choose_head(ranks);
    starts_[c].groups = head.groups;
    starts_[c].ranks = std::ssize(ranks) - head.entries;
  });
  ColumnStart next;
  for (Offset c = 0; c <= cols; ++c) {
    const ColumnStart size = std::exchange(starts_[c], next);
    starts_[c].values = size.values;
    next.groups += size.groups;
    next.ranks += size.ranks;
  }
  ranks_ = Array<Rank>::uninitialized(starts_[cols].ranks);
}

template <class Rank>
template <class PutHead, class PutRest>
void PositionsByColumn<Rank>::divide(const Array<Rank>& all, const PutHead& put_head,
                                     const PutRest& put_rest) {
  parallel_for(starts_.size() - 1, 256, [&](Offset c) {
    const ColumnStart& start = starts_[c];
    const ColumnStart& end = starts_[c + 1];
    const Offset first_listed = end.values - (end.ranks - start.ranks);
    for (Offset e = start.values; e < first_listed; ++e) {
      put_head(e, start.groups * kGroup + Offset{all[e]});
    }
    for (Offset e = first_listed; e < end.values; ++e) {
      const Offset to = start.ranks + (e - first_listed);
      ranks_[to] = all[e];
      put_rest(e, to);
    }
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
          codes_.data(),
          code_values_.data(),
          ranks_.data(),
          values_.size() == 0 ? nullptr : values_.data(),
          limit};
}

template class PositionsByColumn<std::uint16_t>;
template class PositionsByColumn<Index>;

}  // namespace likewise
