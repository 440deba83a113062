// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <span>

#include "backends/top_k.h"
#include "core/parallel.h"
#include "likewise/neighbourhood.h"

namespace likewise {

/// list_of(row) is the sorted list of a row, as a span of candidates.
template <class ListOf>
[[nodiscard]] Neighbours pack_neighbours(Index rows, const ListOf& list_of) {
  Neighbours result{Array<Offset>(Offset{rows} + 1), {}, {}};
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
