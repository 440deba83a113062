// SPDX-License-Identifier: Apache-2.0
#include "training/merge_interactions.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <string>
#include <utility>

#include <fmt/format.h>

#include "core/merged_value.h"
#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Offset kRowsPerBlock = 256;

/// Integers by value, then the rest.
[[nodiscard]] IdMap integers_before_text(std::vector<std::string> names) {
  std::ranges::sort(names, [](const std::string& a, const std::string& b) {
    const auto number_a = canonical_integer(a);
    const auto number_b = canonical_integer(b);
    if (number_a && number_b) return *number_a < *number_b;
    return number_a || number_b ? number_a.has_value() : a < b;
  });
  names.erase(std::unique(names.begin(), names.end()), names.end());
  std::string chars;
  Array<Offset> offsets(std::ssize(names) + 1);
  for (std::size_t i = 0; i < names.size(); ++i) {
    chars += names[i];
    offsets[static_cast<Offset>(i) + 1] = std::ssize(chars);
  }
  return IdMap::from_sorted_text(Array<char>::copy_of(chars), std::move(offsets));
}

/// Whether all ids are integers, as text or not.
[[nodiscard]] bool are_integers(const IdMap& ids) {
  return std::ssize(ids.integers()) == ids.size();
}

/// Those of the first keep their order, which decides between equal scores, and stay text or
/// integers as far as can be: text that joins integers comes after them.
[[nodiscard]] IdMap union_of(const IdMap& first, const IdMap& second) {
  if (first.is_integer() && are_integers(second)) {
    std::vector<std::int64_t> all;
    std::ranges::set_union(first.integers(), second.integers(), std::back_inserter(all));
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(all));
  }
  std::vector<std::string> names;
  for (const IdMap* ids : {&first, &second}) {
    for (Index i = 0; i < ids->size(); ++i) names.push_back(ids->name(i));
  }
  return first.integers().empty() ? IdMap::from_text(names)
                                  : integers_before_text(std::move(names));
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

struct Cell {
  Index column = 0;
  float value = 0.0F;
};

/// One of the two matrices, by united rows and columns.
class Part {
 public:
  Part(const CsrView& matrix, const std::vector<Index>& rows, const std::vector<Index>& columns,
       Index united_rows)
      : matrix_(matrix),
        columns_(columns),
        rows_(origins_of(rows, united_rows)),
        rising_(std::ranges::is_sorted(columns)) {}

  [[nodiscard]] Offset size(Index row) const {
    const Index from = rows_[static_cast<std::size_t>(row)];
    return from < 0 ? 0 : matrix_.row_size(from);
  }
  /// The cells of a row, columns rising.
  void load(Index row, std::vector<Cell>& cells) const {
    cells.clear();
    const Index from = rows_[static_cast<std::size_t>(row)];
    if (from < 0) return;
    for (Offset e = matrix_.offsets[from]; e < matrix_.offsets[from + 1]; ++e) {
      cells.push_back({columns_[static_cast<std::size_t>(matrix_.columns[e])], matrix_.values[e]});
    }
    if (!rising_) std::ranges::sort(cells, {}, &Cell::column);
  }

 private:
  const CsrView& matrix_;
  const std::vector<Index>& columns_;
  std::vector<Index> rows_;  ///< of a united row, -1: none
  bool rising_;              ///< columns keep their order
};

/// The cells of both, columns rising and each once. `both` counts those of both parts.
void merge_cells(const std::vector<Cell>& first, const std::vector<Cell>& second,
                 Duplicates duplicates, std::vector<Cell>& cells, Offset& both,
                 Index& first_of_both) {
  cells.resize(first.size() + second.size());
  std::ranges::merge(first, second, cells.begin(), {}, &Cell::column, &Cell::column);
  std::size_t kept = 0;
  for (const Cell& cell : cells) {
    if (kept == 0 || cells[kept - 1].column != cell.column) {
      cells[kept++] = cell;
      continue;
    }
    if (both++ == 0) first_of_both = cell.column;
    cells[kept - 1].value = merged_value(cells[kept - 1].value, cell.value, duplicates);
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
                "what a pair of both becomes must be said: newest, sum, max, first, last, count or "
                "error");
  }
  if (duplicates == Duplicates::kMean) {
    throw Error(ErrorKind::kInvalidArgument,
                "a mean cannot be gone on with: how many rows made the earlier one is not kept; "
                "train on all rows, or choose " +
                    mention("duplicates", "newest"));
  }
  const Index count = rows.ids.size();
  const Part old(first, rows.first, columns.first, count);
  const Part more(second, rows.second, columns.second, count);
  CsrMatrix merged{count, columns.ids.size(), Array<Offset>(Offset{count} + 1), {}, {}};
  std::vector<Offset> both(static_cast<std::size_t>(count));
  std::vector<Index> repeated(static_cast<std::size_t>(count));
  // Rows of both parts, merged at once: most have cells of one part, and need no more than a copy.
  std::vector<std::vector<Cell>> of_both(static_cast<std::size_t>(count));
  parallel_blocks(count, kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
    std::vector<Cell> left;
    std::vector<Cell> right;
    for (auto row = static_cast<Index>(begin); row < end; ++row) {
      merged.offsets[row + 1] = old.size(row) + more.size(row);
      if (old.size(row) == 0 || more.size(row) == 0) continue;
      const auto at = static_cast<std::size_t>(row);
      old.load(row, left);
      more.load(row, right);
      merge_cells(left, right, duplicates, of_both[at], both[at], repeated[at]);
      merged.offsets[row + 1] = std::ssize(of_both[at]);
    }
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
  parallel_blocks(count, kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
    std::vector<Cell> own;
    for (auto row = static_cast<Index>(begin); row < end; ++row) {
      std::vector<Cell>& cells = of_both[static_cast<std::size_t>(row)];
      if (cells.empty()) (old.size(row) > 0 ? old : more).load(row, own);
      Offset to = merged.offsets[row];
      for (const Cell& cell : cells.empty() ? own : cells) {
        merged.columns[to] = cell.column;
        merged.values[to++] = cell.value;
      }
      cells = {};
    }
  });
  return {std::move(merged), std::accumulate(both.begin(), both.end(), Offset{0})};
}

std::optional<Interactions> in_order_of(const IdMap& users, const IdMap& items,
                                        const Interactions& data) {
  const auto same_order = [](const IdMap& wanted, const IdMap& given) {
    return wanted.integers().size() == given.integers().size();
  };
  if (same_order(users, data.users) && same_order(items, data.items)) return std::nullopt;
  const auto has_all = [](const IdMap& wanted, const IdMap& given) {
    for (Index i = 0; i < given.size(); ++i) {
      if (!wanted.find(given.name(i))) return false;
    }
    return wanted.size() == given.size();
  };
  if (!has_all(users, data.users) || !has_all(items, data.items)) return std::nullopt;
  const UnionOfIds rows{users.share(), places_of(data.users, users), {}};
  const UnionOfIds columns{items.share(), places_of(data.items, items), {}};
  const CsrView nothing;
  return Interactions{
      users.share(),
      items.share(),
      merge_matrices(data.by_user.view(), nothing, rows, columns, Duplicates::kError).matrix,
      {}};
}

}  // namespace likewise
