// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/packed_items.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/parallel.h"

namespace likewise {
namespace {

constexpr Index kWidth = kernels::kPanelItems;

ScoreBound larger(const ScoreBound& a, const ScoreBound& b) {
  return {std::max(a.norm, b.norm), std::max(a.bias, b.bias), std::max(a.abs_bias, b.abs_bias)};
}

}  // namespace

float norm_above(const float* row, Index length) {
  double sum = 0.0;
  for (Index j = 0; j < length; ++j) sum += double{row[j]} * double{row[j]};
  return static_cast<float>(std::sqrt(sum) * (1.0 + 1e-6));
}

std::vector<Index> best_first_order(const MatrixView& items, std::span<const float> item_bias) {
  std::vector<double> key(static_cast<std::size_t>(items.rows));
  parallel_for(items.rows, 1024, [&](Offset i) {
    key[static_cast<std::size_t>(i)] =
        double{norm_above(items.row(static_cast<Index>(i)), items.cols)};
  });
  if (!item_bias.empty()) {
    double squares = 0.0;
    for (const double norm : key) squares += norm * norm;
    const double scale = std::sqrt(squares / std::max<double>(1.0, items.rows));
    for (std::size_t i = 0; i < key.size(); ++i) key[i] = scale * key[i] + double{item_bias[i]};
  }
  std::vector<Index> order(key.size());
  std::iota(order.begin(), order.end(), 0);
  std::stable_sort(order.begin(), order.end(), [&](Index a, Index b) {
    return key[static_cast<std::size_t>(a)] > key[static_cast<std::size_t>(b)];
  });
  return order;
}

PackedItems::PackedItems(const MatrixView& items, std::span<const float> item_bias,
                         std::vector<Index> order)
    : order_(std::move(order)),
      panel_size_(Offset{items.cols} * kWidth),
      values_(panel_size_ * panels()),
      bias_(Offset{panels()} * kWidth),
      panel_bounds_(static_cast<std::size_t>(panels())) {
  parallel_for(panels(), 16,
               [&](Offset p) { pack_panel(static_cast<Index>(p), items, item_bias); });
  rest_bounds_ = panel_bounds_;
  for (std::size_t p = rest_bounds_.size(); p-- > 1;) {
    rest_bounds_[p - 1] = larger(rest_bounds_[p - 1], rest_bounds_[p]);
  }
}

void PackedItems::pack_panel(Index p, const MatrixView& items, std::span<const float> item_bias) {
  float* panel = values_.data() + p * panel_size_;
  const Index first = p * kWidth;
  ScoreBound bound{0.0F, -INFINITY, 0.0F};
  for (Index i = 0; i < std::min(kWidth, size() - first); ++i) {
    const float* row = items.row(item(first + i));
    for (Index j = 0; j < items.cols; ++j) panel[Offset{j} * kWidth + i] = row[j];
    const float bias =
        item_bias.empty() ? 0.0F : item_bias[static_cast<std::size_t>(item(first + i))];
    bias_[Offset{first} + i] = bias;
    bound = larger(bound, {norm_above(row, items.cols), bias, std::abs(bias)});
  }
  panel_bounds_[static_cast<std::size_t>(p)] = bound;
}

std::uint64_t PackedItems::filled(Index p) const {
  const Index count = std::min(kWidth, size() - p * kWidth);
  return count == 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << count) - 1;
}

}  // namespace likewise
