// SPDX-License-Identifier: Apache-2.0
#include "training/merge_interactions.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Offset kRowsPerBlock = 1024;

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
  std::vector<Index> places(static_cast<std::size_t>(ids.size()));
  if (ids.is_integer() && in.is_integer()) {
    const auto all = in.integers();
    auto at = all.begin();
    for (Index i = 0; i < ids.size(); ++i) {
      at = std::find(at, all.end(), ids.integers()[static_cast<std::size_t>(i)]);
      places[static_cast<std::size_t>(i)] = static_cast<Index>(at - all.begin());
    }
    return places;
  }
  parallel_for(ids.size(), kRowsPerBlock, [&](Offset i) {
    places[static_cast<std::size_t>(i)] = in.find(ids.name(static_cast<Index>(i))).value();
  });
  return places;
}

[[nodiscard]] float one_value(float earlier, float later, Duplicates duplicates) {
  if (duplicates == Duplicates::kSum) {
    return static_cast<float>(double{earlier} + double{later});
  }
  return duplicates == Duplicates::kMax ? std::max(earlier, later) : later;
}

struct Cell {
  Index column = 0;
  float value = 0.0F;
};

/// One of the two matrices, by united rows and columns.
struct Part {
  const CsrView& matrix;
  const std::vector<Index>& columns;
  std::vector<Index> rows;  ///< of a united row, -1: none

  void add(Index row, std::vector<Cell>& cells) const {
    const Index from = rows[static_cast<std::size_t>(row)];
    if (from < 0) return;
    for (Offset e = matrix.offsets[from]; e < matrix.offsets[from + 1]; ++e) {
      cells.push_back({columns[static_cast<std::size_t>(matrix.columns[e])], matrix.values[e]});
    }
  }
};

/// A united row, each column once. `both` counts the cells of both parts.
void merge_row(const Part& first, const Part& second, Index row, Duplicates duplicates,
               std::vector<Cell>& cells, Offset& both, Index& first_of_both) {
  cells.clear();
  first.add(row, cells);
  second.add(row, cells);
  if (!std::ranges::is_sorted(cells, {}, &Cell::column)) {
    std::ranges::stable_sort(cells, {}, &Cell::column);
  }
  std::size_t kept = 0;
  for (const Cell& cell : cells) {
    if (kept == 0 || cells[kept - 1].column != cell.column) {
      cells[kept++] = cell;
      continue;
    }
    if (both++ == 0) first_of_both = cell.column;
    cells[kept - 1].value = one_value(cells[kept - 1].value, cell.value, duplicates);
  }
  cells.resize(kept);
}

}  // namespace

UnionOfIds unite_ids(const IdMap& first, const IdMap& second) {
  UnionOfIds merged{union_of(first, second), {}, {}};
  merged.first = places_of(first, merged.ids);
  merged.second = places_of(second, merged.ids);
  return merged;
}

std::vector<Index> origins_of(const std::vector<Index>& places, Index united) {
  std::vector<Index> origins(static_cast<std::size_t>(united), -1);
  for (std::size_t i = 0; i < places.size(); ++i) {
    origins[static_cast<std::size_t>(places[i])] = static_cast<Index>(i);
  }
  return origins;
}

MergedMatrix merge_matrices(const CsrView& first, const CsrView& second, const UnionOfIds& rows,
                            const UnionOfIds& columns, Duplicates duplicates) {
  if (duplicates == Duplicates::kAuto) {
    throw Error(ErrorKind::kInvalidArgument,
                "what a pair of both becomes must be said: sum, last, max or error");
  }
  const Index count = rows.ids.size();
  const Part old{first, columns.first, origins_of(rows.first, count)};
  const Part more{second, columns.second, origins_of(rows.second, count)};
  CsrMatrix merged{count, columns.ids.size(), Array<Offset>(Offset{count} + 1), {}, {}};
  std::vector<Offset> both(static_cast<std::size_t>(count));
  std::vector<Index> repeated(static_cast<std::size_t>(count));
  const auto for_rows = [&](const auto& take) {
    parallel_blocks(count, kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
      std::vector<Cell> cells;
      for (auto row = static_cast<Index>(begin); row < end; ++row) {
        const auto at = static_cast<std::size_t>(row);
        both[at] = 0;
        merge_row(old, more, row, duplicates, cells, both[at], repeated[at]);
        take(row, cells);
      }
    });
  };
  for_rows([&](Index row, const std::vector<Cell>& cells) {
    merged.offsets[row + 1] = std::ssize(cells);
  });
  const auto clash = std::ranges::find_if(both, [](Offset cells) { return cells > 0; });
  if (duplicates == Duplicates::kError && clash != both.end()) {
    const Offset row = clash - both.begin();
    throw Error(ErrorKind::kBadData,
                fmt::format("user '{}' and item '{}' have a value already",
                            rows.ids.name(static_cast<Index>(row)),
                            columns.ids.name(repeated[static_cast<std::size_t>(row)])));
  }
  std::partial_sum(merged.offsets.begin(), merged.offsets.end(), merged.offsets.begin());
  merged.columns = Array<Index>::uninitialized(merged.offsets[count]);
  merged.values = Array<float>::uninitialized(merged.offsets[count]);
  for_rows([&](Index row, const std::vector<Cell>& cells) {
    Offset to = merged.offsets[row];
    for (const Cell& cell : cells) {
      merged.columns[to] = cell.column;
      merged.values[to++] = cell.value;
    }
  });
  return {std::move(merged), std::accumulate(both.begin(), both.end(), Offset{0})};
}

}  // namespace likewise
