// SPDX-License-Identifier: Apache-2.0
/// Metrics of similarity between the rows of a table, each as the dot product or the squared
/// distance of transformed rows. Devices know nothing else, so a new metric is one entry of
/// metric.cpp.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "backends/jobs/top_k.h"
#include "core/first_bad.h"
#include "likewise/matrix.h"
#include "likewise/recommender.h"

namespace likewise {

/// similarity(x, y) = finish(score(t(x), t(y)))
struct Metric {
  std::string_view name;
  ScoreKind score = ScoreKind::kDot;
  /// t: what rows and queries become. Null: they stay as they are.
  Matrix (*transform)(const MatrixView& rows) = nullptr;
  /// Whether t is of numbers from 0 on only.
  bool refuses_negatives = false;
  /// Turns a score into the similarity, or the distance; the order stays. Null: it is.
  float (*finish)(float score) = nullptr;
};

[[nodiscard]] const Metric& metric_of(SimilarityMetric metric);

/// The first number that the metric does not take, of a table of finite numbers.
[[nodiscard]] std::optional<Place> refused_place(const Metric& metric, const MatrixView& rows);

/// Error(kInvalidArgument): "WHERE, column 3: ..."; `where` is the row.
[[noreturn]] void refuse_place(const Metric& metric, const Place& place, const std::string& where);

}  // namespace likewise
