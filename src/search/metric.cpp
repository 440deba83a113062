// SPDX-License-Identifier: Apache-2.0
#include "search/metric.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/parallel.h"
#include "likewise/error.h"

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

constexpr Metric kCosine{
    .name = kSimilarityMetricNames[0], .transform = normalize, .finish = clamp_cosines};
constexpr Metric kDot{.name = kSimilarityMetricNames[1]};

}  // namespace

/// No default: the compiler says which is missing.
const Metric& metric_of(SimilarityMetric metric) {
  switch (metric) {
    case SimilarityMetric::kCosine:
      return kCosine;
    case SimilarityMetric::kDot:
      return kDot;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("there is no metric number {}", static_cast<int>(metric)));
}

}  // namespace likewise
