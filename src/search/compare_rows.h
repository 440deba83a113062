// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>
#include <vector>

#include "algorithms/neighbours/similarity.h"
#include "backends/jobs/neighbours.h"

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
[[nodiscard]] inline Array<float> compare_rows(const WeightedRows& all,
                                               const NeighbourSearch& search,
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

}  // namespace likewise
