// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "core/system/parallel.h"
#include "likewise/knn.h"
#include "retrieval/top_k.h"

namespace likewise {

/// list_of(row) is the sorted list of a row, as a span of candidates.
template <class ListOf>
[[nodiscard]] KnnLists pack_knn_lists(Index rows, const ListOf& list_of) {
  KnnLists result{Array<Offset>(Offset{rows} + 1), {}, {}};
  for (Index row = 0; row < rows; ++row) {
    result.offsets[row + 1] = result.offsets[row] + std::ssize(list_of(row));
  }
  result.rows = Array<Index>::uninitialized(result.offsets[rows]);
  result.similarities = Array<float>::uninitialized(result.offsets[rows]);
  parallel_for(rows, 256, [&](Offset row) {
    Offset to = result.offsets[row];
    for (const Candidate& one : list_of(static_cast<Index>(row))) {
      result.rows[to] = one.item;
      result.similarities[to] = one.score;
      ++to;
    }
  });
  return result;
}

}  // namespace likewise
