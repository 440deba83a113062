// SPDX-License-Identifier: Apache-2.0
#include "retrieval/similar_rows.h"

#include <algorithm>
#include <numeric>

#include "retrieval/batches.h"

namespace likewise {
namespace {

/// One excluded item a query: the query's own row.
CsrMatrix own_rows(std::span<const Index> rows, Index cols) {
  const auto count = static_cast<Offset>(rows.size());
  CsrMatrix result{
      static_cast<Index>(count), cols, Array<Offset>(count + 1), Array<Index>::copy_of(rows), {}};
  std::iota(result.offsets.begin(), result.offsets.end(), Offset{0});
  return result;
}

}  // namespace

TopKResult SimilarRows::find(std::span<const Index> rows, Index n,
                             const RunControl& control) const {
  const MatrixView& table = search_.table();
  const auto answer = [&](std::span<const Index> batch, const RunControl& part) {
    const Matrix queries = gather_rows(table, batch);
    const CsrMatrix excluded = own_rows(batch, table.rows);
    return search_.top_k(queries.view(), n, {excluded.view(), {}}, part);
  };
  return in_batches(rows, std::min(n, table.rows), control, answer);
}

}  // namespace likewise
