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
    std::vector<std::size_t> starts;  // of each row of the batch, and the end
    std::size_t end = at;
    for (; end < order.size(); ++end) {
      const Index row = rows[order[end]];
      if (batch.empty() || batch.back() != row) {
        if (batch.size() == rows_at_a_time()) break;
        batch.push_back(row);
        starts.push_back(end);
      }
    }
    starts.push_back(end);
    const Array<float> similar = similarities(batch);
    parallel_for(std::ssize(batch), 1, [&](Offset r) {
      const Index row = batch[static_cast<std::size_t>(r)];
      const std::size_t first = starts[static_cast<std::size_t>(r)];
      const std::size_t last = starts[static_cast<std::size_t>(r) + 1];
      std::vector<Index> asked(last - first);
      std::vector<float> predicted(asked.size());
      for (std::size_t i = 0; i < asked.size(); ++i) asked[i] = columns[order[first + i]];
      predict_row(ratings.level(row), row, similar.data() + r * learned_.neighbours.size(), asked,
                  predicted.data());
      for (std::size_t i = 0; i < asked.size(); ++i) result[order[first + i]] = predicted[i];
    });
    at = end;
  }
  return result;
}

void NeighbourhoodPredictor::predict_row(const RowLevel& level, Index own,
                                         const float* similarities, std::span<const Index> columns,
                                         float* out) const {
  const NeighbourRatings& ratings = engine().ratings;
  if (NeighbourWalk::pays(ratings, columns)) {
    const NeighbourWalk& walk =
        engine().walk.get([&] { return std::make_unique<NeighbourWalk>(ratings); });
    return walk.predict(level, own, similarities, columns, out);
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    out[i] = ratings.predict(level, own, ratings.raters(columns[i]), similarities);
  }
}

void NeighbourhoodPredictor::predict_rows(std::span<const Index> rows, const float* similarities,
                                          float* out) const {
  std::vector<Index> columns(static_cast<std::size_t>(of_users() ? history_.cols : history_.rows));
  std::iota(columns.begin(), columns.end(), 0);
  parallel_for(std::ssize(rows), 1, [&](Offset r) {
    const Index row = rows[static_cast<std::size_t>(r)];
    predict_row(engine().ratings.level(row), row, similarities + r * learned_.neighbours.size(),
                columns, out + r * std::ssize(columns));
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
