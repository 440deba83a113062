// SPDX-License-Identifier: Apache-2.0
#include "training/merge_interactions.h"

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

[[nodiscard]] IdMap union_of(const IdMap& first, const IdMap& second) {
  if (first.is_integer() && second.is_integer()) {
    std::vector<std::int64_t> all;
    std::ranges::set_union(first.integers(), second.integers(), std::back_inserter(all));
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(all));
  }
  std::vector<std::string> names;
  for (const IdMap* ids : {&first, &second}) {
    for (Index i = 0; i < ids->size(); ++i) names.push_back(ids->name(i));
  }
  return IdMap::from_text(names);
}

[[nodiscard]] std::vector<Index> places_of(const IdMap& ids, const IdMap& in) {
  std::vector<Index> places;
  for (Index i = 0; i < ids.size(); ++i) places.push_back(in.find(ids.name(i)).value());
  return places;
}

[[nodiscard]] float one_value(float earlier, float later, Duplicates duplicates) {
  if (duplicates == Duplicates::kSum) {
    return static_cast<float>(double{earlier} + double{later});
  }
  return duplicates == Duplicates::kMax ? std::max(earlier, later) : later;
}

}  // namespace

UnionOfIds unite_ids(const IdMap& first, const IdMap& second) {
  UnionOfIds merged{union_of(first, second), {}, {}};
  merged.first = places_of(first, merged.ids);
  merged.second = places_of(second, merged.ids);
  return merged;
}

MergedMatrix merge_matrices(const CsrView& first, const CsrView& second, const UnionOfIds& rows,
                            const UnionOfIds& columns, Duplicates duplicates) {
  if (duplicates == Duplicates::kAuto) {
    throw Error(ErrorKind::kInvalidArgument,
                "what a pair of both becomes must be said: sum, last, max or error");
  }
  struct Cell {
    Index column;
    float value;
  };
  std::vector<std::vector<Cell>> cells(static_cast<std::size_t>(rows.ids.size()));
  const auto add = [&](const CsrView& m, const std::vector<Index>& row_places,
                       const std::vector<Index>& column_places) {
    for (Index row = 0; row < m.rows; ++row) {
      auto& to = cells[static_cast<std::size_t>(row_places[static_cast<std::size_t>(row)])];
      for (Offset e = m.offsets[row]; e < m.offsets[row + 1]; ++e) {
        to.push_back({column_places[static_cast<std::size_t>(m.columns[e])], m.values[e]});
      }
    }
  };
  add(first, rows.first, columns.first);
  add(second, rows.second, columns.second);
  CsrMatrix merged{
      rows.ids.size(), columns.ids.size(), Array<Offset>(Offset{rows.ids.size()} + 1), {}, {}};
  Offset in_both = 0;
  for (Index row = 0; row < merged.rows; ++row) {
    auto& list = cells[static_cast<std::size_t>(row)];
    std::ranges::stable_sort(list, {}, &Cell::column);
    std::size_t kept = 0;
    for (const Cell& cell : list) {
      if (kept == 0 || list[kept - 1].column != cell.column) {
        list[kept++] = cell;
        continue;
      }
      if (duplicates == Duplicates::kError) {
        throw Error(ErrorKind::kBadData,
                    fmt::format("user '{}' and item '{}' have a value already", rows.ids.name(row),
                                columns.ids.name(cell.column)));
      }
      list[kept - 1].value = one_value(list[kept - 1].value, cell.value, duplicates);
      ++in_both;
    }
    list.resize(kept);
    merged.offsets[row + 1] = merged.offsets[row] + static_cast<Offset>(kept);
  }
  merged.columns = Array<Index>::uninitialized(merged.offsets[merged.rows]);
  merged.values = Array<float>::uninitialized(merged.offsets[merged.rows]);
  for (Index row = 0; row < merged.rows; ++row) {
    Offset to = merged.offsets[row];
    for (const Cell& cell : cells[static_cast<std::size_t>(row)]) {
      merged.columns[to] = cell.column;
      merged.values[to++] = cell.value;
    }
  }
  return {std::move(merged), in_both};
}

}  // namespace likewise
