// SPDX-License-Identifier: Apache-2.0
/// The item table as top-k wants it: best bets first, cut into panels whose scores can be bounded.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/score_panel.h"
#include "likewise/array.h"
#include "likewise/matrix.h"

namespace likewise {

/// Bounds over items: no score passes  norm |q| + bias.
struct ScoreBound {
  float norm = 0.0F;      ///< the largest |y|, rounded up
  float bias = 0.0F;      ///< the largest bias
  float abs_bias = 0.0F;  ///< the largest |bias|: scale of rounding errors
};

class PackedItems {
 public:
  /// `order` lists the items to pack, in the order to pack them.
  PackedItems(const MatrixView& items, std::span<const float> item_bias, std::vector<Index> order);

  [[nodiscard]] Index size() const { return static_cast<Index>(order_.size()); }
  [[nodiscard]] Index panels() const {
    return (size() + kernels::kPanelItems - 1) / kernels::kPanelItems;
  }
  [[nodiscard]] const float* panel(Index p) const { return values_.data() + p * panel_size_; }
  [[nodiscard]] const float* bias(Index p) const {
    return bias_.data() + Offset{p} * kernels::kPanelItems;
  }
  [[nodiscard]] Index item(Index position) const {
    return order_[static_cast<std::size_t>(position)];
  }
  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  /// Of panel p alone, and of panel p and all that follow.
  [[nodiscard]] const ScoreBound& panel_bound(Index p) const {
    return panel_bounds_[static_cast<std::size_t>(p)];
  }
  [[nodiscard]] const ScoreBound& rest_bound(Index p) const {
    return rest_bounds_[static_cast<std::size_t>(p)];
  }
  /// One bit per position of panel p that holds an item.
  [[nodiscard]] std::uint64_t filled(Index p) const;

 private:
  void pack_panel(Index p, const MatrixView& items, std::span<const float> item_bias);

  std::vector<Index> order_;
  Offset panel_size_ = 0;
  Array<float> values_;
  Array<float> bias_;
  std::vector<ScoreBound> panel_bounds_;
  std::vector<ScoreBound> rest_bounds_;
};

/// All items, falling by  c |y| + bias  (ties: smaller item first) with c the root mean square |y|,
/// a guess of a query's length: the likely winners come first and thresholds rise early.
[[nodiscard]] std::vector<Index> best_first_order(const MatrixView& items,
                                                  std::span<const float> item_bias);

/// |row|, rounded up.
[[nodiscard]] float norm_above(const float* row, Index length);

}  // namespace likewise
