// SPDX-License-Identifier: Apache-2.0
/// The items as top-k looks at them: best bets first, cut into panels whose scores can be bounded.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/kernels/find_hits.h"
#include "likewise/array.h"
#include "retrieval/top_k_order.h"

namespace likewise {

/// Bounds over items: no score of a query q passes  |q| norm + bias.
struct ScoreBound {
  float norm = 0.0F;      ///< the largest |y|, rounded up
  float bias = 0.0F;      ///< the largest bias
  float abs_bias = 0.0F;  ///< the largest |bias|: scale of rounding errors
};

/// The lengths of some items, to a part in 10^11.
struct NormRange {
  double least = 0.0;
  double largest = 0.0;
};

/// Which item stands where, and what it can score at most. The factors are elsewhere (estimates.h).
/// For distances all of it, and the estimates, are of dot products between centred rows with the
/// bias -|y|^2 / 2: math.md, "Distances".
class ItemPanels {
 public:
  /// `order` lists the items in the order to pack them.
  ItemPanels(const CentredRows& items, std::span<const float> item_bias, ScoreKind score,
             std::vector<Index> order);

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
  /// Lengths in panel p; in all panels before p; in p and all that follow. Panels of distances are
  /// in the order of these lengths. There must be such panels.
  [[nodiscard]] NormRange norms(Index p) const { return norms_[static_cast<std::size_t>(p)]; }
  [[nodiscard]] NormRange norms_before(Index p) const {
    return {0.0, largest_up_to_[static_cast<std::size_t>(p) - 1]};
  }
  [[nodiscard]] NormRange norms_from(Index p) const {
    return {least_from_[static_cast<std::size_t>(p)], largest_up_to_.back()};
  }
  /// The first panel with an item of this length or longer, else the last.
  [[nodiscard]] Index panel_at(double norm) const;

 private:
  void measure(Index p, const CentredRows& items, ScoreKind score);

  std::vector<Index> order_;
  Array<Index> position_;
  Array<float> bias_;
  std::vector<ScoreBound> panel_bounds_;
  std::vector<ScoreBound> rest_bounds_;
  std::vector<NormRange> norms_;
  std::vector<double> largest_up_to_;
  std::vector<double> least_from_;
};

}  // namespace likewise
