// SPDX-License-Identifier: Apache-2.0
#include "search/similar_rows.h"

#include <algorithm>
#include <numeric>

#include "search/batches.h"

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

SimilarRows::SimilarRows(const MatrixView& table, const Metric& metric, const Backend& backend)
    : metric_(metric),
      transformed_(metric.transform != nullptr ? metric.transform(table) : Matrix()),
      table_(metric.transform != nullptr ? transformed_.view() : table),
      biases_(metric.biases != nullptr ? metric.biases(table_) : Array<float>()),
      scorer_(backend.make_scorer(table_, biases_.span())) {}

TopKResult SimilarRows::find(std::span<const Index> rows, Index n,
                             const RunControl& control) const {
  const auto answer = [&](std::span<const Index> batch, const RunControl& part) {
    const Matrix queries = gather_rows(table_, batch);
    const CsrMatrix excluded = own_rows(batch, table_.rows);
    TopKResult answers = scorer_->top_k(queries.view(), n, {excluded.view(), {}}, part);
    if (metric_.finish != nullptr) metric_.finish(queries.view(), answers);
    return answers;
  };
  return in_batches(rows, std::min(n, table_.rows), control, answer);
}

}  // namespace likewise
