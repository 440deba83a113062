// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <numeric>
#include <span>

#include "core/system/parallel.h"
#include "likewise/knn.h"
#include "retrieval/top_k.h"

namespace likewise {

/// Lists of size_of(row) entries, which are still to be written.
template <class SizeOf>
[[nodiscard]] KnnLists knn_lists_of_sizes(Index rows, const SizeOf& size_of) {
  KnnLists lists{Array<Offset>(Offset{rows} + 1), {}, {}};
  parallel_for(rows, 1024, [&](Offset row) {
    lists.offsets[row + 1] = static_cast<Offset>(size_of(static_cast<Index>(row)));
  });
  std::partial_sum(lists.offsets.begin(), lists.offsets.end(), lists.offsets.begin());
  lists.rows = Array<Index>::uninitialized(lists.offsets[rows]);
  lists.similarities = Array<float>::uninitialized(lists.offsets[rows]);
  return lists;
}

/// list_of(row) is the sorted list of a row, as a span of candidates.
template <class ListOf>
[[nodiscard]] KnnLists pack_knn_lists(Index rows, const ListOf& list_of) {
  KnnLists result = knn_lists_of_sizes(rows, [&](Index row) { return list_of(row).size(); });
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
