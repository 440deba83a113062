// SPDX-License-Identifier: Apache-2.0
/// Predictions of single cells, and of all that are missing.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/system/parallel.h"
#include "core/system/seconds.h"
#include "serving/knn_predictor.h"
#include "serving/missing_cells.h"
#include "serving/rate_pairs.h"

namespace likewise {

std::vector<float> KnnPredictor::predict(std::span<const Index> users, std::span<const Index> items,
                                         const RunControl& control) const {
  return sums() ? predict_sums(users, items) : predict_ratings(users, items, control);
}

std::vector<float> KnnPredictor::predict_sums(std::span<const Index> users,
                                              std::span<const Index> items) const {
  std::vector<std::size_t> order(users.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::stable_sort(order, {}, [&](std::size_t p) { return users[p]; });
  std::vector<std::size_t> starts;
  for (std::size_t at = 0; at < order.size(); ++at) {
    if (at == 0 || users[order[at]] != users[order[at - 1]]) starts.push_back(at);
  }
  std::vector<float> result(users.size());
  parallel_for(std::ssize(starts), 1, [&](Offset g) {
    const auto group = static_cast<std::size_t>(g);
    const Index number = users[order[starts[group]]];
    if (number < 0) return;
    std::vector<double> scores(static_cast<std::size_t>(history_.cols));
    add_sums(trained_user(model(), number), scores);
    const std::size_t end = group + 1 < starts.size() ? starts[group + 1] : order.size();
    for (std::size_t at = starts[group]; at < end; ++at) {
      const Index item = items[order[at]];
      if (item >= 0) {
        result[order[at]] = static_cast<float>(scores[static_cast<std::size_t>(item)]);
      }
    }
  });
  return result;
}

std::vector<float> KnnPredictor::predict_ratings(std::span<const Index> users,
                                                 std::span<const Index> items,
                                                 const RunControl& control) const {
  return rate_pairs(
      of_users() ? users : items, of_users() ? items : users,
      [&](std::span<const Index> rows, std::span<const Index> columns, float* out) {
        predictions().of_pairs(rows, columns, out, control);
      },
      [&](Index row, Index column) { return engine().ratings.fallback(row, column); });
}

PredictionTimes KnnPredictor::predict_missing(const TakeMissing& take,
                                              const RunControl& control) const {
  if (sums()) return Predictor::predict_missing(take, control);
  const double magnitudes = seconds_of([&] { (void)predictions(); });
  const CsrView known = engine().problem.rows().weights;
  PredictionTimes times = MissingCells(known, known.cols)
                              .for_rows(
                                  params_.side, known.rows, control,
                                  [&](std::span<const Index> rows, float* out) {
                                    return predictions().of_rows(rows, out);
                                  },
                                  take);
  times.magnitudes = magnitudes;
  return times;
}

}  // namespace likewise
