// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "algorithms/knn/similarity.h"
#include "backends/jobs/knn.h"
#include "backends/jobs/predictions.h"
#include "core/system/parallel.h"

namespace likewise {

/// Rows of a matrix put together one after the other.
struct RowBuilder {
  std::vector<Offset> offsets{0};
  std::vector<Index> columns;
  std::vector<float> values;
  std::vector<RowStats> stats;

  void add(std::span<const Index> row_columns, std::span<const float> row_values,
           const RowStats& row_stats) {
    columns.insert(columns.end(), row_columns.begin(), row_columns.end());
    values.insert(values.end(), row_values.begin(), row_values.end());
    offsets.push_back(static_cast<Offset>(columns.size()));
    stats.push_back(row_stats);
  }
  [[nodiscard]] WeightedRows view(Index cols) const {
    return {{static_cast<Index>(stats.size()), cols, offsets.data(), columns.data(), values.data()},
            stats};
  }
};

/// Similarities of all rows of a problem to some of them: rows.size() x all.
[[nodiscard]] inline Array<float> compare_rows(const WeightedRows& all, const KnnSearch& search,
                                               std::span<const Index> rows) {
  RowBuilder queries;
  for (const Index row : rows) {
    queries.add(all.weights.row_columns(row), all.weights.row_values(row),
                all.stats[static_cast<std::size_t>(row)]);
  }
  auto result = Array<float>::uninitialized(static_cast<Offset>(rows.size()) * all.weights.rows);
  search.similarities(queries.view(all.weights.cols), result.data());
  return result;
}

/// The same from the lists of neighbours that were kept; 0 for all others.
[[nodiscard]] inline Array<float> kept_similarities(const KnnLists& kept,
                                                    std::span<const Index> rows) {
  auto result = Array<float>::uninitialized(std::ssize(rows) * Offset{kept.size()});
  parallel_for(std::ssize(rows), 16, [&](Offset r) {
    const Index row = rows[static_cast<std::size_t>(r)];
    float* const similar = result.data() + r * kept.size();
    std::fill_n(similar, kept.size(), 0.0F);
    const auto near = kept.rows_of(row);
    for (std::size_t e = 0; e < near.size(); ++e) similar[near[e]] = kept.similarities_of(row)[e];
  });
  return result;
}

/// What predictions of some rows ask: rows.size() x all, 0 where a row may not be asked.
[[nodiscard]] inline Array<float> asked_similarities(const KnnModel& model,
                                                     std::span<const Index> rows) {
  if (model.kept != nullptr) return kept_similarities(*model.kept, rows);
  return compare_rows(model.problem.rows(), model.search(), rows);
}

/// So many rows at a time keep the similarities to `all` rows in bounded memory.
[[nodiscard]] inline std::size_t rows_at_a_time(Index all) {
  constexpr Offset kMostNumbers = Offset{1} << 24;
  return static_cast<std::size_t>(
      std::clamp<Offset>(kMostNumbers / std::max<Index>(1, all), 1, 4096));
}

}  // namespace likewise
