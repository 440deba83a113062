// SPDX-License-Identifier: Apache-2.0
#include "retrieval/metric.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/system/parallel.h"
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

/// sqrt y, in float32.
Matrix roots(const MatrixView& table) {
  Matrix result(table.rows, table.cols);
  parallel_for(table.rows, 1024, [&](Offset r) {
    float* to = result.row(static_cast<Index>(r));
    for (const float x : table.row_span(static_cast<Index>(r))) *to++ = std::sqrt(x);
  });
  return result;
}

/// Rounding leaves cosines a little beyond 1.
float cosine_of(float score) { return std::clamp(score, -1.0F, 1.0F); }

float squared_distance_of(float score) { return std::abs(score); }
float distance_of(float score) { return std::sqrt(std::abs(score)); }

constexpr const std::string_view* kNames = kSimilarityMetricNames;
constexpr Metric kCosine{.name = kNames[0], .transform = normalize, .finish = cosine_of};
constexpr Metric kDot{.name = kNames[1]};
constexpr Metric kEuclidean{
    .name = kNames[2], .score = ScoreKind::kSquaredDistance, .finish = distance_of};
constexpr Metric kHellinger{.name = kNames[3],
                            .score = ScoreKind::kSquaredDistance,
                            .transform = roots,
                            .refuses_negatives = true,
                            .finish = squared_distance_of};

}  // namespace

/// No default: the compiler says which is missing.
const Metric& metric_of(SimilarityMetric metric) {
  switch (metric) {
    case SimilarityMetric::kCosine:
      return kCosine;
    case SimilarityMetric::kDot:
      return kDot;
    case SimilarityMetric::kEuclidean:
      return kEuclidean;
    case SimilarityMetric::kHellinger:
      return kHellinger;
  }
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("there is no metric number {}", static_cast<int>(metric)));
}

std::optional<Place> refused_place(const Metric& metric, const MatrixView& rows) {
  if (!metric.refuses_negatives) return std::nullopt;
  return first_bad_number(rows, [](float x) { return x < 0.0F; });
}

void refuse_place(const Metric& metric, const Place& place, const std::string& where) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{}, column {}: the number {} is negative, and the metric {} compares "
                          "vectors without negative numbers, as histograms are; compare by {}, or "
                          "give such vectors",
                          where, place.column, place.number, metric.name, kEuclidean.name));
}

}  // namespace likewise
