// SPDX-License-Identifier: Apache-2.0
/// Users of spectral factors: sums over their items.
#pragma once

#include <span>
#include <vector>

#include "likewise/csr.h"
#include "likewise/matrix.h"

namespace likewise {

/// n_i^(-2b) of every item, 0 for items that nobody has; b is the item exponent.
[[nodiscard]] std::vector<double> scale_of_items(const CsrView& by_user, double item_exponent);

/// x = sum of value_e scale_e y_e over the items of one user, in double precision in their order;
/// empty `values`: all 1.
[[nodiscard]] std::vector<double> sum_of_items(std::span<const Index> items,
                                               std::span<const float> values,
                                               std::span<const double> scale, const MatrixView& y);

/// The sums of all users (users x factors).
[[nodiscard]] Matrix user_sums(const CsrView& by_user, std::span<const double> scale,
                               const Matrix& y);

}  // namespace likewise
