// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/top_k/item_panels.h"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "core/system/parallel.h"
#include "likewise/error.h"

namespace likewise {
namespace {

using kernels::kPanelItems;

ScoreBound larger(const ScoreBound& a, const ScoreBound& b) {
  return {std::max(a.norm, b.norm), std::max(a.bias, b.bias), std::max(a.abs_bias, b.abs_bias)};
}

}  // namespace

ItemPanels::ItemPanels(const CentredRows& items, std::span<const float> item_bias, ScoreKind score,
                       std::vector<Index> order)
    : order_(std::move(order)),
      position_(Array<Index>::uninitialized(items.rows())),
      bias_(item_bias.empty() && score == ScoreKind::kDot ? 0 : Offset{panels()} * kPanelItems),
      panel_bounds_(static_cast<std::size_t>(panels())),
      norms_(panel_bounds_.size()) {
  std::fill(position_.begin(), position_.end(), -1);
  for (Index i = 0; i < size(); ++i) position_[item(i)] = i;
  if (!item_bias.empty()) {
    for (Index i = 0; i < size(); ++i) bias_[i] = item_bias[static_cast<std::size_t>(item(i))];
  }
  parallel_for(panels(), 16, [&](Offset p) { measure(static_cast<Index>(p), items, score); });
  rest_bounds_ = panel_bounds_;
  for (std::size_t p = rest_bounds_.size(); p-- > 1;) {
    rest_bounds_[p - 1] = larger(rest_bounds_[p - 1], rest_bounds_[p]);
  }
  for (const NormRange& range : norms_) {
    largest_up_to_.push_back(range.largest);
    least_from_.push_back(range.least);
  }
  for (std::size_t p = 1; p < norms_.size(); ++p) {
    largest_up_to_[p] = std::max(largest_up_to_[p], largest_up_to_[p - 1]);
  }
  for (std::size_t p = norms_.size(); p-- > 1;) {
    least_from_[p - 1] = std::min(least_from_[p - 1], least_from_[p]);
  }
}

Index ItemPanels::filled(Index p) const { return std::min(kPanelItems, size() - p * kPanelItems); }

Index ItemPanels::panel_at(double norm) const {
  const auto at = std::lower_bound(largest_up_to_.begin(), largest_up_to_.end(), norm);
  return std::min(static_cast<Index>(at - largest_up_to_.begin()), panels() - 1);
}

void ItemPanels::measure(Index p, const CentredRows& items, ScoreKind score) {
  ScoreBound bound{0.0F, -INFINITY, 0.0F};
  NormRange range{INFINITY, 0.0};
  std::vector<float> room;
  for (Index i = p * kPanelItems; i < p * kPanelItems + filled(p); ++i) {
    const float* const row = items.row(item(i), room);
    const double norm = norm_of(row, items.cols());
    if (score == ScoreKind::kSquaredDistance) bias_[i] = static_cast<float>(-0.5 * norm * norm);
    const float bias = bias_.empty() ? 0.0F : bias_[i];
    const auto above = static_cast<float>(norm * (1.0 + 1e-6));
    if (!std::isfinite(above) || !std::isfinite(bias)) {
      throw Error(ErrorKind::kInvalidArgument,
                  fmt::format("item {} has a factor or bias that is not finite", item(i)));
    }
    bound = larger(bound, {above, bias, std::abs(bias)});
    range = {std::min(range.least, norm), std::max(range.largest, norm)};
  }
  panel_bounds_[static_cast<std::size_t>(p)] = bound;
  norms_[static_cast<std::size_t>(p)] = range;
}

}  // namespace likewise
