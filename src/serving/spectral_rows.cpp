// SPDX-License-Identifier: Apache-2.0
#include "serving/spectral_rows.h"

#include <algorithm>
#include <cmath>

#include "algorithms/row_counts.h"

namespace likewise {

SpectralRows::SpectralRows(const Factors& factors, const SpectralParams& params,
                           const CsrView& history)
    : factors_(factors), scale_(static_cast<std::size_t>(factors.items.rows())) {
  if (history.rows == 0) return;
  const std::vector<Offset> counts = column_counts(history);
  std::ranges::transform(counts, scale_.begin(), [&](Offset n) {
    return n > 0 ? std::pow(static_cast<double>(n), -2.0 * params.item_exponent) : 0.0;
  });
}

std::vector<double> SpectralRows::sum(std::span<const Index> items,
                                      std::span<const float> values) const {
  std::vector<double> x(static_cast<std::size_t>(factors_.items.cols()));
  for (std::size_t e = 0; e < items.size(); ++e) {
    const double value = values.empty() ? 1.0 : double{values[e]};
    const double weight = value * scale_[static_cast<std::size_t>(items[e])];
    const float* const y = factors_.items.row(items[e]);
    for (std::size_t f = 0; f < x.size(); ++f) x[f] += weight * double{y[f]};
  }
  return x;
}

std::vector<double> SpectralRows::solve(const FoldInRow& row) const {
  return sum(row.columns, row.values);
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
