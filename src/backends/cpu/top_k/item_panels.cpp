// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/top_k/item_panels.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include <fmt/format.h>

#include "core/parallel.h"
#include "likewise/error.h"

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
    const float* row = items.row(static_cast<Index>(i));
    key[static_cast<std::size_t>(i)] = double{norm_above(row, items.cols)};
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

ItemPanels::ItemPanels(const MatrixView& items, std::span<const float> item_bias,
                       std::vector<Index> order)
    : order_(std::move(order)),
      position_(Array<Index>::uninitialized(items.rows)),
      bias_(item_bias.empty() ? 0 : Offset{panels()} * kWidth),
      panel_bounds_(static_cast<std::size_t>(panels())) {
  std::fill(position_.begin(), position_.end(), -1);
  for (Index i = 0; i < size(); ++i) position_[item(i)] = i;
  if (!item_bias.empty()) {
    for (Index i = 0; i < size(); ++i) bias_[i] = item_bias[static_cast<std::size_t>(item(i))];
  }
  parallel_for(panels(), 16, [&](Offset p) {
    panel_bounds_[static_cast<std::size_t>(p)] = bound_of(static_cast<Index>(p), items);
  });
  rest_bounds_ = panel_bounds_;
  for (std::size_t p = rest_bounds_.size(); p-- > 1;) {
    rest_bounds_[p - 1] = larger(rest_bounds_[p - 1], rest_bounds_[p]);
  }
}

Index ItemPanels::filled(Index p) const { return std::min(kWidth, size() - p * kWidth); }

ScoreBound ItemPanels::bound_of(Index p, const MatrixView& items) {
  ScoreBound bound{0.0F, -INFINITY, 0.0F};
  for (Index i = p * kWidth; i < p * kWidth + filled(p); ++i) {
    const float bias = bias_.empty() ? 0.0F : bias_[i];
    const float norm = norm_above(items.row(item(i)), items.cols);
    if (!std::isfinite(norm) || !std::isfinite(bias)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("item {} has a factor or bias that is not finite", item(i)));
    }
    bound = larger(bound, {norm, bias, std::abs(bias)});
  }
  return bound;
}

}  // namespace likewise
