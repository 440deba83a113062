// SPDX-License-Identifier: Apache-2.0
/// From the sums over neighbours to a rating: the only text of the formulas (math.md), for the
/// processor and for GPUs, rounded as core/host_device.h says. So all devices give the same bits.
#pragma once

#include <cstdint>

#include "algorithms/rating_scale.h"
#include "core/host_device.h"
#include "likewise/knn.h"

namespace likewise {

/// What a prediction needs to know of a row alone.
struct RowLevel {
  double mean = 0.0;
  double sigma = 1.0;
  double bias = 0.0;
};

/// What a prediction needs to know of a column.
struct ColumnLevel {
  double bias = 0.0;
  bool rated = false;  ///< whether anybody has it
};

/// What is asked, added up from the most to the least similar row. Products of two float32 numbers
/// are exact in double precision, so it does not matter whether they are fused with the addition.
struct RatingSums {
  double products = 0.0;  ///< sum s deviation
  double weights = 0.0;   ///< sum |s|
  std::uint32_t asked = 0;

  LIKEWISE_HOST_DEVICE void add(float similarity, float deviation) {
    const auto s = static_cast<double>(similarity);
    products += s * static_cast<double>(deviation);
    weights += s < 0.0 ? -s : s;
    ++asked;
  }
};

/// How a model predicts, as plain numbers.
struct RatingNumbers {
  Prediction prediction = Prediction::kMean;
  std::uint32_t min_neighbours = 1;
  std::uint32_t most_asked = 0;  ///< of the rows that have a column: the most similar ones
  double mean = 0.0;             ///< of all values
  double baseline_mean = 0.0;
  float lowest = 0.0F;  ///< the scale of ratings
  float highest = 0.0F;
};

/// What stands before the sums.
[[nodiscard]] LIKEWISE_HOST_DEVICE double rating_base(const RatingNumbers& f, const RowLevel& x,
                                                      double column_bias) {
  switch (f.prediction) {
    case Prediction::kCentred:
    case Prediction::kZScore:
      return x.mean;
    case Prediction::kBaseline:
      return f.baseline_mean + x.bias + column_bias;
    case Prediction::kMean:
    case Prediction::kSum:
      break;
  }
  return 0.0;
}

/// What the sums are multiplied by.
[[nodiscard]] LIKEWISE_HOST_DEVICE double rating_scale(const RatingNumbers& f, const RowLevel& x) {
  return f.prediction == Prediction::kZScore ? x.sigma : 1.0;
}

/// What is left where none are asked.
[[nodiscard]] LIKEWISE_HOST_DEVICE double rating_alone(const RatingNumbers& f, const RowLevel& x,
                                                       const ColumnLevel& column) {
  const bool baseline = f.prediction == Prediction::kBaseline;
  if (f.prediction == Prediction::kMean || (!column.rated && !baseline)) return f.mean;
  return rating_base(f, x, column.bias);
}

[[nodiscard]] LIKEWISE_HOST_DEVICE float knn_rating(const RatingNumbers& f, const RowLevel& x,
                                                    const ColumnLevel& column,
                                                    const RatingSums& sums) {
  const double rating =
      sums.asked < f.min_neighbours
          ? rating_alone(f, x, column)
          : rating_base(f, x, column.bias) + rating_scale(f, x) * sums.products / sums.weights;
  return on_scale(f.lowest, f.highest, rating);
}

}  // namespace likewise
