// SPDX-License-Identifier: Apache-2.0
/// What defaults and the choice of an algorithm look at: how many entries users and items have.
#pragma once

#include <algorithm>
#include <iterator>
#include <span>
#include <utility>
#include <vector>

#include "core/system/parallel.h"
#include "likewise/csr.h"

namespace likewise {

/// Entries of every row.
[[nodiscard]] inline std::vector<Offset> row_counts(const CsrView& matrix) {
  std::vector<Offset> counts(static_cast<std::size_t>(matrix.rows));
  for (Index row = 0; row < matrix.rows; ++row) {
    counts[static_cast<std::size_t>(row)] = matrix.row_size(row);
  }
  return counts;
}

/// Entries of every column.
[[nodiscard]] inline std::vector<Offset> column_counts(const CsrView& matrix) {
  constexpr Offset kCounters = Offset{1} << 25;      // of all blocks
  constexpr Offset kLeastEntries = Offset{1} << 18;  // of a block
  const Offset entries = matrix.nnz();
  const Offset blocks = std::clamp<Offset>(
      std::min(kCounters / std::max<Offset>(1, matrix.cols), entries / kLeastEntries), 1, 64);
  std::vector<std::vector<Offset>> of_blocks(static_cast<std::size_t>(blocks));
  parallel_blocks(entries, std::max<Offset>(1, (entries + blocks - 1) / blocks),
                  [&](Offset begin, Offset end, Offset block) {
                    std::vector<Offset>& counts = of_blocks[static_cast<std::size_t>(block)];
                    counts.resize(static_cast<std::size_t>(matrix.cols));
                    for (Offset e = begin; e < end; ++e) {
                      ++counts[static_cast<std::size_t>(matrix.columns[e])];
                    }
                  });
  std::vector<Offset> all(static_cast<std::size_t>(matrix.cols));
  for (const std::vector<Offset>& counts : of_blocks) {
    for (std::size_t column = 0; column < counts.size(); ++column) all[column] += counts[column];
  }
  return all;
}

/// Entries of each user and of each item that has any: what all rules for defaults and choices look
/// at. A matrix by ids may have many rows and columns without entries, of which they know nothing.
struct RowCounts {
  std::vector<Offset> of_users;
  std::vector<Offset> of_items;
};

[[nodiscard]] inline RowCounts counts_of_rows_with_entries(const CsrView& by_user) {
  RowCounts counts{row_counts(by_user), column_counts(by_user)};
  std::erase(counts.of_users, Offset{0});
  std::erase(counts.of_items, Offset{0});
  return counts;
}

/// Of users or items with entries.
struct SideCounts {
  std::vector<Offset> counts;
  double rows = 1.0;  ///< how many they are, at least 1
  double mean = 1.0;  ///< at least 1
};

[[nodiscard]] inline SideCounts of_side(std::vector<Offset> counts, Offset entries) {
  SideCounts side{std::move(counts)};
  side.rows = static_cast<double>(std::max<std::size_t>(1, side.counts.size()));
  side.mean = std::max(1.0, static_cast<double>(entries) / side.rows);
  return side;
}

/// sum of c (c - 1): pairs of entries of a row, both ways round.
[[nodiscard]] inline double pairs_of(std::span<const Offset> counts) {
  double pairs = 0.0;
  for (const Offset count : counts) {
    pairs += static_cast<double>(count) * static_cast<double>(count - 1);
  }
  return pairs;
}

/// N (N - 1) / sum of c (c - 1): of so many rows with equally many entries two entries would be of
/// the same row as often (Simpson's index; of items it is n_e in math.md, "The choice of
/// auto"). Where no row has two entries, as many as there are.
[[nodiscard]] inline double even_count(std::span<const Offset> counts) {
  double entries = 0.0;
  for (const Offset count : counts) entries += static_cast<double>(count);
  const double pairs = pairs_of(counts);
  return pairs > 0.0 ? entries * (entries - 1.0) / pairs : entries;
}

/// More items than these, all equally popular, are many.
inline constexpr double kManyItems = 1800.0;
/// Users with so many entries have long histories, for data of many equally popular items.
inline constexpr double kLongHistory = 75.0;
/// Popularity is flat where it is that of more than this share of the items, all equally popular.
inline constexpr double kFlat = 0.5;

/// How popularity is spread over items.
struct PopularitySpread {
  double items = 0.0;       ///< with entries
  double even_items = 0.0;  ///< n_e: as many equally popular items would meet as often

  [[nodiscard]] bool is_of_many() const { return even_items > kManyItems; }
  /// Most items are about as popular, as where data keep so many entries of each.
  [[nodiscard]] bool is_flat() const { return even_items > kFlat * items; }
};

[[nodiscard]] inline PopularitySpread spread_of(std::span<const Offset> of_items) {
  const auto empty = std::ranges::count(of_items, Offset{0});
  return {static_cast<double>(std::ssize(of_items) - empty), even_count(of_items)};
}

}  // namespace likewise
