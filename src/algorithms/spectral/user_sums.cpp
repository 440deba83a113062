// SPDX-License-Identifier: Apache-2.0
#include "algorithms/spectral/user_sums.h"

#include <algorithm>
#include <cmath>

#include "algorithms/row_counts.h"
#include "core/linalg/row_sums.h"
#include "core/system/parallel.h"

namespace likewise {

std::vector<double> scale_of_items(const CsrView& by_user, double item_exponent) {
  std::vector<double> scale(static_cast<std::size_t>(by_user.cols));
  std::ranges::transform(column_counts(by_user), scale.begin(), [&](Offset n) {
    return n > 0 ? std::pow(static_cast<double>(n), -2.0 * item_exponent) : 0.0;
  });
  return scale;
}

std::vector<double> sum_of_items(std::span<const Index> items, std::span<const float> values,
                                 std::span<const double> scale, const MatrixView& y) {
  std::vector<double> weights(items.size());
  for (std::size_t e = 0; e < items.size(); ++e) {
    const double value = values.empty() ? 1.0 : double{values[e]};
    weights[e] = value * scale[static_cast<std::size_t>(items[e])];
  }
  std::vector<double> x(static_cast<std::size_t>(y.cols));
  kernels::sum_rows(items, weights.data(), y, x.data());
  return x;
}

Matrix user_sums(const CsrView& by_user, std::span<const double> scale, const Matrix& y) {
  Matrix users(by_user.rows, y.cols());
  parallel_for(by_user.rows, 64, [&](Offset user) {
    const auto row = static_cast<Index>(user);
    const std::vector<double> x =
        sum_of_items(by_user.row_columns(row), by_user.row_values(row), scale, y.view());
    std::ranges::transform(x, users.row(row), [](double v) { return static_cast<float>(v); });
  });
  return users;
}

}  // namespace likewise
