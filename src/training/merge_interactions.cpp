// SPDX-License-Identifier: Apache-2.0
#include "training/merge_interactions.h"

#include <algorithm>
#include <iterator>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "core/linalg/fill_rows.h"
#include "core/merged_value.h"
#include "core/places_of.h"
#include "core/system/parallel.h"
#include "likewise/error.h"
#include "training/growth.h"

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

/// Text ids, byte by byte, and others that are not among them.
[[nodiscard]] IdMap with_text(const IdMap& ids, std::vector<std::string> others) {
  std::ranges::sort(others);
  std::string chars;
  chars.reserve(ids.chars().size());
  Array<Offset> offsets(Offset{ids.size()} + std::ssize(others) + 1);
  Offset count = 0;
  const auto put = [&](std::string_view id) {
    chars += id;
    offsets[++count] = std::ssize(chars);
  };
  auto other = others.begin();
  for (Index i = 0; i < ids.size(); ++i) {
    const auto begin = static_cast<std::size_t>(ids.offsets()[static_cast<std::size_t>(i)]);
    const auto end = static_cast<std::size_t>(ids.offsets()[static_cast<std::size_t>(i) + 1]);
    const std::string_view id(ids.chars().data() + begin, end - begin);
    for (; other != others.end() && *other < id; ++other) put(*other);
    put(id);
  }
  for (; other != others.end(); ++other) put(*other);
  return IdMap::from_sorted_text(Array<char>::copy_of(chars), std::move(offsets));
}

/// The first keep their order, which decides between equal scores, and stay text or integers as far
/// as can be: text that joins integers comes after them. `places` are those of `second` in `first`.
[[nodiscard]] IdMap union_of(const IdMap& first, const IdMap& second,
                             std::span<const Index> places) {
  if (first.is_integer() && are_integers(second)) {
    std::vector<std::int64_t> all;
    std::ranges::set_union(first.integers(), second.integers(), std::back_inserter(all));
    return IdMap::from_sorted_integers(Array<std::int64_t>::copy_of(all));
  }
  std::vector<std::string> names;
  for (Index i = 0; i < second.size(); ++i) {
    if (places[static_cast<std::size_t>(i)] < 0) names.push_back(second.name(i));
  }
  if (first.integers().empty()) return with_text(first, std::move(names));
  for (Index i = 0; i < first.size(); ++i) names.push_back(first.name(i));
  return integers_before_text(std::move(names));
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

/// Writes the cells of both, columns rising and each once; how many there are.
Offset merge_cells(std::span<const Cell> first, std::span<const Cell> second, Duplicates duplicates,
                   Index* columns, float* values) {
  Offset count = 0;
  const auto put = [&](Index column, float value) {
    columns[count] = column;
    values[count++] = value;
  };
  auto a = first.begin();
  auto b = second.begin();
  while (a != first.end() && b != second.end()) {
    if (a->column == b->column) {
      put(a->column, merged_value(a->value, b->value, duplicates));
      ++a;
      ++b;
    } else {
      const Cell& next = a->column < b->column ? *a++ : *b++;
      put(next.column, next.value);
    }
  }
  for (; a != first.end(); ++a) put(a->column, a->value);
  for (; b != second.end(); ++b) put(b->column, b->value);
  return count;
}

/// The first column that both have; they have one.
[[nodiscard]] Index first_of_both(std::span<const Cell> first, std::span<const Cell> second) {
  for (auto a = first.begin(), b = second.begin();;) {
    if (a->column == b->column) return a->column;
    a->column < b->column ? ++a : ++b;
  }
}

[[noreturn]] void refuse_cell_of_both(const Part& first, const Part& second, const UnionOfIds& rows,
                                      const UnionOfIds& columns, std::span<const Offset> counts) {
  Index row = 0;
  while (counts[static_cast<std::size_t>(row)] == first.size(row) + second.size(row)) ++row;
  std::vector<Cell> left;
  std::vector<Cell> right;
  first.load(row, left);
  second.load(row, right);
  throw Error(ErrorKind::kBadData,
              fmt::format("user '{}' and item '{}' have a value already", rows.ids.name(row),
                          columns.ids.name(first_of_both(left, right))));
}

/// The first `counts[row]` entries of each row.
[[nodiscard]] CsrMatrix without_gaps(const CsrMatrix& from, std::span<const Offset> counts) {
  const auto count = [&](Index row) { return counts[static_cast<std::size_t>(row)]; };
  return fill_rows(from.rows, from.cols, count, [&](Index row, Index* columns, float* values) {
    std::copy_n(from.columns.begin() + from.offsets[row], count(row), columns);
    std::copy_n(from.values.begin() + from.offsets[row], count(row), values);
  });
}

}  // namespace

UnionOfIds unite_ids(const IdMap& first, const IdMap& second) {
  std::vector<Index> known = places_of(second, first);
  if (std::ranges::find(known, -1) == known.end()) {
    return {first.share(), all_rows(first.size()), std::move(known)};
  }
  UnionOfIds merged{union_of(first, second, known), {}, {}};
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
  // Where a cell is in both, a row needs less.
  CsrMatrix merged = room_for_rows(count, columns.ids.size(),
                                   [&](Index row) { return old.size(row) + more.size(row); });
  std::vector<Offset> counts(static_cast<std::size_t>(count));
  parallel_blocks(count, kRowsPerBlock, [&](Offset begin, Offset end, Offset) {
    std::vector<Cell> left;
    std::vector<Cell> right;
    for (Offset row = begin; row < end; ++row) {
      old.load(static_cast<Index>(row), left);
      more.load(static_cast<Index>(row), right);
      counts[static_cast<std::size_t>(row)] =
          merge_cells(left, right, duplicates, merged.columns.data() + merged.offsets[row],
                      merged.values.data() + merged.offsets[row]);
    }
  });
  const Offset in_both = merged.nnz() - std::reduce(counts.begin(), counts.end());
  if (in_both == 0) return {std::move(merged), 0};
  if (duplicates == Duplicates::kError) refuse_cell_of_both(old, more, rows, columns, counts);
  return {without_gaps(merged, counts), in_both};
}

std::optional<Interactions> in_order_of(const IdMap& users, const IdMap& items,
                                        const Interactions& data) {
  const auto same_order = [](const IdMap& wanted, const IdMap& given) {
    return wanted.integers().size() == given.integers().size();
  };
  if (same_order(users, data.users) && same_order(items, data.items)) return std::nullopt;
  const UnionOfIds rows{users.share(), places_of(data.users, users), {}};
  const UnionOfIds columns{items.share(), places_of(data.items, items), {}};
  const auto has_all = [](const UnionOfIds& wanted) {
    return std::ssize(wanted.first) == wanted.ids.size() &&
           std::ranges::find(wanted.first, -1) == wanted.first.end();
  };
  if (!has_all(rows) || !has_all(columns)) return std::nullopt;
  const CsrView nothing;
  return Interactions{
      users.share(),
      items.share(),
      merge_matrices(data.by_user.view(), nothing, rows, columns, Duplicates::kError).matrix,
      {}};
}

}  // namespace likewise
