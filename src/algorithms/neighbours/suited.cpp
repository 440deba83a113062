// SPDX-License-Identifier: Apache-2.0
#include "algorithms/neighbours/suited.h"

#include <algorithm>
#include <vector>

#include "algorithms/row_counts.h"

namespace likewise {
namespace {

/// c_u c_i of the rule.
constexpr double kEnoughEntries = 190.0;

}  // namespace

SumScale suited_sum_scale(const CsrView& by_user) {
  const std::vector<Offset> of_items = column_counts(by_user);
  const auto items = static_cast<double>(of_items.size()) -
                     static_cast<double>(std::ranges::count(of_items, Offset{0}));
  double users = 0.0;
  for (Index u = 0; u < by_user.rows; ++u) users += by_user.row_size(u) > 0 ? 1.0 : 0.0;
  const auto entries = static_cast<double>(by_user.nnz());
  // c_u c_i = N / m * N / n
  const bool enough = entries * entries >= kEnoughEntries * users * items;
  return enough && even_items(of_items) > kManyItems ? SumScale::kMean : SumScale::kNone;
}

}  // namespace likewise
