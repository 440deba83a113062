// SPDX-License-Identifier: Apache-2.0
#include "search/metric.h"

#include <algorithm>
#include <cmath>
#include <iterator>

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

/// Rounding leaves cosines a little beyond 1.
void clamp_cosines(const MatrixView&, TopKResult& answers) {
  for (float& score : answers.scores) score = std::clamp(score, -1.0F, 1.0F);
}

/// In the order of SimilarityMetric.
constexpr Metric kMetrics[] = {
    {.name = kSimilarityMetricNames[0], .transform = normalize, .finish = clamp_cosines},
    {.name = kSimilarityMetricNames[1]}};
static_assert(std::size(kMetrics) == std::size(kSimilarityMetricNames));

}  // namespace

const Metric& metric_of(SimilarityMetric metric) {
  return kMetrics[static_cast<std::size_t>(metric)];
}

}  // namespace likewise
