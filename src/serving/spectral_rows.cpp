// SPDX-License-Identifier: Apache-2.0
#include "serving/spectral_rows.h"

#include <algorithm>

#include "algorithms/spectral/user_sums.h"

namespace likewise {

SpectralRows::SpectralRows(const Factors& factors, const SpectralParams& params,
                           const CsrView& history)
    : factors_(factors),
      scale_(history.rows > 0
                 ? scale_of_items(history, params.item_exponent)
                 : std::vector<double>(static_cast<std::size_t>(factors.items.rows()))) {}

std::vector<double> SpectralRows::solve(const FoldInRow& row) const {
  return sum_of_items(row.columns, row.values, scale_, factors_.items.view());
}

Explanation SpectralRows::explain(const FoldInRow& row, Index item) const {
  const auto y = factors_.items.row_span(item);
  Explanation result;
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const float value = row.values.empty() ? 1.0F : row.values[e];
    const auto of_entry = factors_.items.row_span(row.columns[e]);
    double product = 0.0;
    for (std::size_t f = 0; f < y.size(); ++f) product += double{of_entry[f]} * double{y[f]};
    const double share = double{value} * scale_[static_cast<std::size_t>(row.columns[e])] * product;
    result.contributions.push_back({row.columns[e], value, share});
    result.score += share;
  }
  std::ranges::stable_sort(result.contributions, std::ranges::greater{}, &Contribution::share);
  return result;
}

}  // namespace likewise
