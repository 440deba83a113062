// SPDX-License-Identifier: Apache-2.0
/// Metrics of similarity between the rows of a table, each as a dot product of transformed rows
/// plus a bias. Devices know nothing else, so a new metric is one entry of metric.cpp.
#pragma once

#include <string_view>

#include "likewise/array.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "likewise/recommender.h"
#include "likewise/top_k.h"

namespace likewise {

/// similarity(x, y) = finish(t(x) . t(y) + bias(y))
struct Metric {
  std::string_view name;
  /// t: what rows and queries become. Null: they stay as they are.
  Matrix (*transform)(const MatrixView& rows) = nullptr;
  /// One number per transformed row. Null: none.
  Array<float> (*biases)(const MatrixView& transformed) = nullptr;
  /// Turns the scores of transformed queries into similarities; it must keep their order. Null:
  /// they are.
  void (*finish)(const MatrixView& transformed, TopKResult& answers) = nullptr;
};

[[nodiscard]] const Metric& metric_of(SimilarityMetric metric);

}  // namespace likewise
