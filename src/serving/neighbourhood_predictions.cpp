// SPDX-License-Identifier: Apache-2.0
/// Predictions of single cells, and of all that are missing.
#include <algorithm>
#include <numeric>
#include <vector>

#include "core/parallel.h"
#include "serving/missing_cells.h"
#include "serving/neighbourhood_predictor.h"

namespace likewise {

std::vector<float> NeighbourhoodPredictor::predict(std::span<const Index> users,
                                                   std::span<const Index> items) const {
  return sums() ? predict_sums(users, items) : predict_ratings(users, items);
}

std::vector<float> NeighbourhoodPredictor::predict_sums(std::span<const Index> users,
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

std::vector<float> NeighbourhoodPredictor::predict_ratings(std::span<const Index> users,
                                                           std::span<const Index> items) const {
  const NeighbourRatings& ratings = engine().ratings;
  const std::span<const Index> rows = of_users() ? users : items;
  const std::span<const Index> columns = of_users() ? items : users;
  std::vector<float> result(users.size());
  std::vector<std::size_t> order;
  for (std::size_t p = 0; p < users.size(); ++p) {
    if (rows[p] >= 0 && columns[p] >= 0) {
      order.push_back(p);
    } else {
      result[p] = ratings.fallback(rows[p], columns[p]);
    }
  }
  std::ranges::stable_sort(order, {}, [&](std::size_t p) { return rows[p]; });
  for (std::size_t at = 0; at < order.size();) {
    std::vector<Index> batch;
    std::vector<std::size_t> place;  // of each pair's row in the batch
    std::size_t end = at;
    for (; end < order.size(); ++end) {
      const Index row = rows[order[end]];
      if (batch.empty() || batch.back() != row) {
        if (batch.size() == rows_at_a_time()) break;
        batch.push_back(row);
      }
      place.push_back(batch.size() - 1);
    }
    const Array<float> similar = similarities(batch);
    parallel_for(static_cast<Offset>(end - at), 64, [&](Offset i) {
      const std::size_t p = order[at + static_cast<std::size_t>(i)];
      const auto query = static_cast<Offset>(place[static_cast<std::size_t>(i)]);
      result[p] = ratings.predict(ratings.level(rows[p]), rows[p], ratings.raters(columns[p]),
                                  similar.data() + query * learned_.neighbours.size());
    });
    at = end;
  }
  return result;
}

void NeighbourhoodPredictor::predict_rows(std::span<const Index> rows, const float* similarities,
                                          float* out) const {
  const NeighbourRatings& ratings = engine().ratings;
  const Index columns = of_users() ? history_.cols : history_.rows;
  const Index all = learned_.neighbours.size();
  constexpr Offset kColumnsPerTask = 512;
  const Offset tasks = (columns + kColumnsPerTask - 1) / kColumnsPerTask;
  parallel_for(std::ssize(rows) * tasks, 1, [&](Offset task) {
    const Offset r = task / tasks;
    const Index row = rows[static_cast<std::size_t>(r)];
    const auto first = static_cast<Index>(task % tasks * kColumnsPerTask);
    const auto end = static_cast<Index>(std::min<Offset>(columns, first + kColumnsPerTask));
    for (Index column = first; column < end; ++column) {
      out[r * columns + column] =
          ratings.predict(ratings.level(row), row, ratings.raters(column), similarities + r * all);
    }
  });
}

PredictionTimes NeighbourhoodPredictor::predict_missing(const TakeMissing& take,
                                                        const RunControl& control) const {
  if (sums()) return Predictor::predict_missing(take, control);
  const double magnitudes = MissingCells::seconds_of([&] { (void)engine(); });
  const CsrView known = engine().problem.rows().weights;
  Array<float> similar;
  PredictionTimes times =
      MissingCells(known, known.cols)
          .for_rows(
              params_.side, known.rows, control,
              [&](std::span<const Index> rows) { similar = similarities(rows); },
              [&](std::span<const Index> rows, float* out) {
                predict_rows(rows, similar.data(), out);
              },
              take);
  times.magnitudes = magnitudes;
  return times;
}

}  // namespace likewise
