// SPDX-License-Identifier: Apache-2.0
#include "retrieval/top_k_order.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/system/parallel.h"

namespace likewise {

const float* CentredRows::row(Index i, std::vector<float>& room) const {
  const float* const row = rows_.row(i);
  if (centre_.empty()) return row;
  room.resize(centre_.size());
  for (std::size_t j = 0; j < room.size(); ++j) room[j] = row[j] - centre_[j];
  return room.data();
}

double norm_of(const float* row, Index length) {
  double sum = 0.0;
  for (Index j = 0; j < length; ++j) sum += double{row[j]} * double{row[j]};
  return std::sqrt(sum);
}

float norm_above(const float* row, Index length) {
  return static_cast<float>(norm_of(row, length) * (1.0 + 1e-6));
}

std::vector<Index> packing_order(const CentredRows& items, std::span<const float> item_bias,
                                 ScoreKind score) {
  std::vector<double> key(static_cast<std::size_t>(items.rows()));
  parallel_blocks(items.rows(), 1024, [&](Offset begin, Offset end, Offset) {
    std::vector<float> room;
    for (Offset i = begin; i < end; ++i) {
      const float* const row = items.row(static_cast<Index>(i), room);
      const double norm = double{norm_above(row, items.cols())};
      key[static_cast<std::size_t>(i)] = score == ScoreKind::kDot ? norm : -norm;
    }
  });
  if (!item_bias.empty()) {
    double squares = 0.0;
    for (const double norm : key) squares += norm * norm;
    const double scale = std::sqrt(squares / std::max<double>(1.0, items.rows()));
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = scale * key[i] + double{item_bias[i]};
  }
  std::vector<Index> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return key[static_cast<std::size_t>(a)] > key[static_cast<std::size_t>(b)];
  });
  return order;
}

std::vector<float> centre_of(const MatrixView& rows) {
  constexpr Index kSample = 1023;
  const Index count = std::min(rows.rows, kSample);
  std::vector<float> centre(static_cast<std::size_t>(rows.cols));
  if (count == 0) return centre;
  parallel_blocks(rows.cols, 16, [&](Offset begin, Offset end, Offset) {
    std::vector<float> column(static_cast<std::size_t>(count));
    const auto middle = column.begin() + count / 2;
    for (Offset j = begin; j < end; ++j) {
      for (Index s = 0; s < count; ++s) {
        const auto row = static_cast<Index>(Offset{rows.rows} * s / count);
        column[static_cast<std::size_t>(s)] = rows.row(row)[j];
      }
      std::nth_element(column.begin(), middle, column.end());
      centre[static_cast<std::size_t>(j)] = *middle;
    }
  });
  return centre;
}

}  // namespace likewise
