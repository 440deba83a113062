// SPDX-License-Identifier: Apache-2.0
#include "algorithms/similar.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "algorithms/batches.h"
#include "backends/jobs/device_jobs.h"
#include "core/parallel.h"

namespace likewise {
namespace {

/// y / |y|, and 0 for 0.
Matrix normalize(const MatrixView& table) {
  Matrix result(table.rows, table.cols);
  parallel_for(table.rows, 1024, [&](Offset r) {
    const auto from = table.row_span(static_cast<Index>(r));
    double squares = 0.0;
    for (const float x : from) squares += double{x} * double{x};
    if (squares == 0.0) return;
    const double scale = 1.0 / std::sqrt(squares);
    float* to = result.row(static_cast<Index>(r));
    for (const float x : from) *to++ = static_cast<float>(scale * double{x});
  });
  return result;
}

/// One excluded item a query: the query's own row.
CsrMatrix own_rows(std::span<const Index> rows, Index cols) {
  const auto count = static_cast<Offset>(rows.size());
  CsrMatrix result{
      static_cast<Index>(count), cols, Array<Offset>(count + 1), Array<Index>::copy_of(rows), {}};
  std::iota(result.offsets.begin(), result.offsets.end(), Offset{0});
  return result;
}

}  // namespace

SimilarRows::SimilarRows(const MatrixView& table, SimilarityMetric metric, const Device& device)
    : normalized_(metric == SimilarityMetric::kCosine ? normalize(table) : Matrix()),
      table_(metric == SimilarityMetric::kCosine ? normalized_.view() : table),
      scorer_(job<TopKJob>(device).make_scorer(table_, {})) {}

TopKResult SimilarRows::find(std::span<const Index> rows, Index n,
                             const RunControl& control) const {
  const auto answer = [&](std::span<const Index> batch, const RunControl& part) {
    const Matrix queries = gather_rows(table_, batch);
    const CsrMatrix excluded = own_rows(batch, table_.rows);
    return scorer_->top_k(queries.view(), n, {excluded.view(), {}}, part);
  };
  TopKResult result = in_batches(rows, std::min(n, table_.rows), control, answer);
  if (normalized_.rows() > 0) {
    for (float& score : result.scores) score = std::clamp(score, -1.0F, 1.0F);
  }
  return result;
}

}  // namespace likewise
