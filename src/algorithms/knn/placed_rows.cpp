// SPDX-License-Identifier: Apache-2.0
#include "algorithms/knn/placed_rows.h"

#include <algorithm>
#include <functional>
#include <numeric>

#include "core/system/parallel.h"

namespace likewise {

PlacedRows place_rows(const KnnRatings& ratings) {
  const CsrView by_column = ratings.by_column();
  std::vector<Index> columns(static_cast<std::size_t>(by_column.rows));
  std::iota(columns.begin(), columns.end(), 0);
  std::ranges::stable_sort(columns, std::ranges::greater{},
                           [&](Index column) { return by_column.row_size(column); });
  CsrMatrix placed = {
      by_column.rows, by_column.cols, Array<Offset>::uninitialized(Offset{by_column.rows} + 1),
      Array<Index>::uninitialized(by_column.nnz()), Array<float>::uninitialized(by_column.nnz())};
  placed.offsets[0] = 0;
  for (Index place = 0; place < by_column.rows; ++place) {
    const Index column = columns[static_cast<std::size_t>(place)];
    placed.offsets[place + 1] = placed.offsets[place] + by_column.row_size(column);
  }
  parallel_for(by_column.rows, 64, [&](Offset place) {
    const Index column = columns[static_cast<std::size_t>(place)];
    const Offset at = placed.offsets[place];
    std::ranges::copy(by_column.row_columns(column), placed.columns.data() + at);
    std::ranges::copy(by_column.row_values(column), placed.values.data() + at);
  });
  return {std::move(columns), transpose(placed.view())};
}

}  // namespace likewise
