// SPDX-License-Identifier: Apache-2.0
/// The items as top-k looks at them: best bets first, cut into panels whose scores can be bounded.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/find_hits.h"
#include "likewise/array.h"
#include "likewise/matrix.h"

namespace likewise {

/// Bounds over items: no score of a query q passes  |q| norm + bias.
struct ScoreBound {
  float norm = 0.0F;      ///< the largest |y|, rounded up
  float bias = 0.0F;      ///< the largest bias
  float abs_bias = 0.0F;  ///< the largest |bias|: scale of rounding errors
};

/// Which item stands where, and what it can score at most. The factors are elsewhere (estimates.h).
class ItemPanels {
 public:
  /// `order` lists the items in the order to pack them.
  ItemPanels(const MatrixView& items, std::span<const float> item_bias, std::vector<Index> order);

  [[nodiscard]] Index size() const { return static_cast<Index>(order_.size()); }
  [[nodiscard]] Index panels() const {
    return (size() + kernels::kPanelItems - 1) / kernels::kPanelItems;
  }
  [[nodiscard]] Index item(Index position) const {
    return order_[static_cast<std::size_t>(position)];
  }
  /// -1 for an item that is not packed.
  [[nodiscard]] Index position(Index item) const { return position_[item]; }
  [[nodiscard]] const std::vector<Index>& order() const { return order_; }
  /// Number of items in panel p: kPanelItems, but fewer in the last.
  [[nodiscard]] Index filled(Index p) const;
  /// kPanelItems biases, 64-byte aligned; null where the table has none.
  [[nodiscard]] const float* bias(Index p) const {
    return bias_.empty() ? nullptr : bias_.data() + Offset{p} * kernels::kPanelItems;
  }
  /// Of panel p alone, and of panel p and all that follow.
  [[nodiscard]] const ScoreBound& panel_bound(Index p) const {
    return panel_bounds_[static_cast<std::size_t>(p)];
  }
  [[nodiscard]] const ScoreBound& rest_bound(Index p) const {
    return rest_bounds_[static_cast<std::size_t>(p)];
  }

 private:
  [[nodiscard]] ScoreBound bound_of(Index p, const MatrixView& items);

  std::vector<Index> order_;
  Array<Index> position_;
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
