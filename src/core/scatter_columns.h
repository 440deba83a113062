// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <vector>

#include "core/parallel.h"
#include "likewise/array.h"
#include "likewise/control.h"
#include "likewise/csr.h"

namespace likewise {

/// Sorts the entries of a matrix by column, in parallel, the same for any number of threads: calls
/// write(to, place, entry) for every entry, where `place` counts the rows in the order row_at(0),
/// row_at(1), ..., `entry` is its position in the matrix and `to` the one by column. Within a
/// column places rise. Returns where each column begins (cols + 1 positions).
template <class RowAt, class Write>
Array<Offset> scatter_by_column(const CsrView& m, const RowAt& row_at, const Write& write) {
  const Offset nnz = m.nnz();
  Array<Offset> begins(Offset{m.cols} + 1);
  // Parts of rows with about the same number of entries each; a part counts its entries per
  // column, the counts become its write positions, so every entry's place is fixed by the matrix
  // alone.
  const auto parts = static_cast<std::size_t>(std::clamp<Offset>(
      std::min<Offset>(thread_count(), nnz / std::max<Offset>(1, Offset{m.cols} / 2)), 1, 64));
  std::vector<Index> first(parts + 1, m.rows);
  Offset before = 0;
  std::size_t part = 0;
  for (Index place = 0; place < m.rows && part < parts; ++place) {
    while (part < parts && before >= nnz / static_cast<Offset>(parts) * static_cast<Offset>(part)) {
      first[part++] = place;
    }
    before += m.row_size(row_at(place));
  }
  std::vector<Array<Offset>> next(parts);
  const auto for_entries = [&](std::size_t p, const auto& body) {
    for (Index place = first[p]; place < first[p + 1]; ++place) {
      const Index row = row_at(place);
      for (Offset e = m.offsets[row]; e < m.offsets[row + 1]; ++e) body(place, e);
    }
  };
  parallel_for(static_cast<Offset>(parts), 1, [&](Offset p) {
    auto& counts = next[static_cast<std::size_t>(p)] = Array<Offset>(m.cols);
    for_entries(static_cast<std::size_t>(p), [&](Index, Offset e) { ++counts[m.columns[e]]; });
  });
  Offset position = 0;
  for (Index column = 0; column < m.cols; ++column) {
    begins[column] = position;
    for (auto& counts : next) {
      const Offset count = counts[column];
      counts[column] = position;
      position += count;
    }
  }
  begins[m.cols] = position;
  parallel_for(static_cast<Offset>(parts), 1, [&](Offset p) {
    auto& to = next[static_cast<std::size_t>(p)];
    for_entries(static_cast<std::size_t>(p),
                [&](Index place, Offset e) { write(to[m.columns[e]]++, place, e); });
  });
  return begins;
}

}  // namespace likewise
