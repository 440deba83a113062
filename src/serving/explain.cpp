// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <numeric>

#include "serving/fold_in.h"

namespace likewise {

Explanation FoldInSolver::explain(const FoldInRow& row, Index item) const {
  Explanation result;
  result.baseline = baseline(item);
  result.score = result.baseline;
  if (row.columns.empty()) return result;
  std::vector<double> z = features(item);
  system(row).solve(z);  // z = A^-1 y~_item
  for (std::size_t e = 0; e < row.columns.size(); ++e) {
    const std::vector<double> y = features(row.columns[e]);
    // share_j = (y~_item^T A^-1 y~_j) v_j
    const double share = std::inner_product(y.begin(), y.end(), z.begin(), 0.0) * weights(row, e).v;
    const float value = row.values.empty() ? 1.0F : row.values[e];
    result.contributions.push_back({row.columns[e], value, share});
    result.score += share;
  }
  std::sort(result.contributions.begin(), result.contributions.end(),
            [](const Contribution& a, const Contribution& b) {
              return a.share != b.share ? a.share > b.share : a.item < b.item;
            });
  return result;
}

}  // namespace likewise
