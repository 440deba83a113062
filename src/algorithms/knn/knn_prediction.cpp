// SPDX-License-Identifier: Apache-2.0
#include "algorithms/knn/knn_prediction.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "algorithms/bias/row_bias.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

struct Moments {
  double mean = 0.0;
  double sigma = 0.0;
};

[[nodiscard]] Moments moments_of(std::span<const float> values) {
  if (values.empty()) return {};
  const auto count = static_cast<double>(values.size());
  double sum = 0.0;
  for (const float v : values) sum += double{v};
  const double mean = sum / count;
  double squares = 0.0;
  for (const float v : values) squares += (double{v} - mean) * (double{v} - mean);
  return {mean, std::sqrt(squares / count)};
}

[[nodiscard]] double bias_of(const Array<float>& biases, Index index) {
  return index < 0 || biases.empty() ? 0.0 : double{biases[index]};
}

/// All but the mean of the values.
[[nodiscard]] RatingNumbers numbers_of(const CsrView& by_user, const KnnParams& params,
                                       const Biases& biases) {
  const RatingScale scale(by_user.all_values(), params.clip);
  RatingNumbers numbers;
  numbers.prediction = params.prediction;
  numbers.min_neighbours = static_cast<std::uint32_t>(params.min_neighbours);
  numbers.most_asked = params.predict_from == PredictFrom::kAll
                           ? std::numeric_limits<std::uint32_t>::max()
                           : static_cast<std::uint32_t>(params.neighbours);
  numbers.baseline_mean = double{biases.mean};
  numbers.lowest = scale.lowest();
  numbers.highest = scale.highest();
  return numbers;
}

}  // namespace

KnnRatings::KnnRatings(const CsrView& by_user, const KnnParams& params, const Biases& biases)
    : params_(params), biases_(biases), numbers_(numbers_of(by_user, params, biases)) {
  const std::span<const float> all = by_user.all_values();
  const Moments moments = moments_of(all);
  numbers_.mean = moments.mean;
  sigma_ = moments.sigma > 0.0 ? moments.sigma : 1.0;  // all alike: no row deviates
  CsrMatrix transposed = transpose(by_user);
  const bool of_users = params.side == Side::kUsers;
  const CsrView rows = of_users ? by_user : transposed.view();
  levels_.resize(static_cast<std::size_t>(rows.rows));
  parallel_for(rows.rows, 256, [&](Offset r) {
    const auto row = static_cast<Index>(r);
    RowLevel& level = levels_[static_cast<std::size_t>(r)];
    level = level_of(rows.row_columns(row), rows.row_values(row));
    level.bias = bias_of(biases_.bias(params_.side), row);
  });
  by_column_ =
      of_users
          ? std::move(transposed)
          : CsrMatrix{
                by_user.rows, by_user.cols,
                Array<Offset>::copy_of({by_user.offsets, static_cast<std::size_t>(by_user.rows) +
                                                             (by_user.rows > 0 ? 1 : 0)}),
                Array<Index>::copy_of({by_user.columns, all.size()}), Array<float>::copy_of(all)};
  parallel_for(by_column_.rows, 256, [&](Offset c) {
    const double bias = column_bias(static_cast<Index>(c));
    for (Offset e = by_column_.offsets[c]; e < by_column_.offsets[c + 1]; ++e) {
      by_column_.values[e] = deviation(by_column_.columns[e], by_column_.values[e], bias);
    }
  });
}

RowLevel KnnRatings::level_of(std::span<const Index> columns, std::span<const float> values) const {
  const Moments moments = moments_of(values);
  RowLevel level{columns.empty() ? numbers_.mean : moments.mean,
                 moments.sigma > 0.0 ? moments.sigma : sigma_, 0.0};
  if (!params_.needs_biases()) return level;
  const double regularization = params_.side == Side::kUsers ? params_.baseline_user_regularization
                                                             : params_.baseline_item_regularization;
  level.bias = row_bias(
      columns, values, double{biases_.mean}, [&](Index c) { return column_bias(c); },
      regularization);
  return level;
}

double KnnRatings::column_bias(Index column) const {
  return bias_of(biases_.bias(other(params_.side)), column);
}

double KnnRatings::column_bias_of(std::span<const Index> rows,
                                  std::span<const float> values) const {
  if (params_.prediction != Prediction::kBaseline) return 0.0;
  const double regularization = params_.side == Side::kUsers ? params_.baseline_item_regularization
                                                             : params_.baseline_user_regularization;
  return row_bias(
      rows, values, double{biases_.mean}, [&](Index row) { return level(row).bias; },
      regularization);
}

KnnRatings::Raters KnnRatings::raters(Index column) const {
  const CsrView view = by_column_.view();
  return {view.row_columns(column), view.row_values(column), column_bias(column)};
}

std::vector<float> KnnRatings::deviations_of(std::span<const Index> rows,
                                             std::span<const float> values,
                                             double column_bias) const {
  std::vector<float> result(values.size());
  for (std::size_t e = 0; e < values.size(); ++e) {
    result[e] = deviation(rows[e], values[e], column_bias);
  }
  return result;
}

float KnnRatings::deviation(Index row, float value, double column_bias) const {
  const RowLevel& v = level(row);
  switch (params_.prediction) {
    case Prediction::kCentred:
      return static_cast<float>(double{value} - v.mean);
    case Prediction::kZScore:
      return static_cast<float>((double{value} - v.mean) / v.sigma);
    case Prediction::kBaseline:
      return static_cast<float>(double{value} - double{biases_.mean} - v.bias - column_bias);
    case Prediction::kMean:
    case Prediction::kSum:
      break;
  }
  return value;
}

std::uint64_t KnnRatings::key_of(float similarity, std::uint32_t number) {
  const auto bits = std::bit_cast<std::uint32_t>(similarity);
  const std::uint32_t falling = (bits & 0x8000'0000U) != 0 ? bits : 0x7fff'ffffU - bits;
  return std::uint64_t{falling} << 32U | number;
}

std::span<const std::uint64_t> KnnRatings::nearest(Index own, const Raters& raters,
                                                   const float* similarities) const {
  thread_local std::vector<std::uint64_t> near;
  near.resize(raters.rows.size());
  std::size_t count = 0;
  for (std::size_t e = 0; e < raters.rows.size(); ++e) {
    const float s = similarities[raters.rows[e]];
    near[count] = key_of(s, static_cast<std::uint32_t>(e));
    count += s != 0.0F && raters.rows[e] != own ? 1 : 0;
  }
  near.resize(count);
  const std::size_t limit = numbers_.most_asked;
  if (near.size() > limit) {  // entries rise with rows: ties go to the smaller row
    std::nth_element(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(limit), near.end());
    near.resize(limit);
  }
  std::ranges::sort(near);
  if (near.size() < static_cast<std::size_t>(params_.min_neighbours)) near.clear();
  return near;
}

float KnnRatings::predict(const RowLevel& x, Index own, const Raters& raters,
                          const float* similarities) const {
  const auto near = nearest(own, raters, similarities);
  RatingSums sums;
  for (const std::uint64_t key : near) {
    const auto entry = static_cast<std::uint32_t>(key);
    sums.add(similarities[raters.rows[entry]], raters.deviations[entry]);
  }
  return rating(x, raters, sums);
}

float KnnRatings::rating(const RowLevel& x, const Raters& raters, const RatingSums& sums) const {
  return knn_rating(numbers_, x, {raters.column_bias, !raters.rows.empty()}, sums);
}

KnnRatings::Parts KnnRatings::parts(const RowLevel& x, Index own, const Raters& raters,
                                    const float* similarities) const {
  Parts parts{rating_alone(numbers_, x, {raters.column_bias, !raters.rows.empty()}),
              std::vector<double>(raters.rows.size())};
  const auto near = nearest(own, raters, similarities);
  if (near.empty()) return parts;
  parts.level = rating_base(numbers_, x, raters.column_bias);
  RatingSums sums;
  for (const std::uint64_t key : near) {
    const auto entry = static_cast<std::uint32_t>(key);
    const float similarity = similarities[raters.rows[entry]];
    sums.add(similarity, raters.deviations[entry]);
    parts.shares[entry] =
        rating_scale(numbers_, x) * (double{similarity} * double{raters.deviations[entry]});
  }
  for (double& share : parts.shares) share /= sums.weights;
  return parts;
}

float KnnRatings::fallback(Index row, Index column) const {
  const bool baseline = params_.prediction == Prediction::kBaseline;
  const double rating =
      baseline
          ? numbers_.baseline_mean + bias_of(biases_.bias(params_.side), row) + column_bias(column)
          : numbers_.mean;
  return on_scale(numbers_.lowest, numbers_.highest, rating);
}

}  // namespace likewise
