// SPDX-License-Identifier: Apache-2.0
/// Rows of S = D^(-1/2) X' D_U^(-b) X D^(-1/2), one at a time, from the entries of an item's users.
#pragma once

#include <algorithm>
#include <span>

#include "algorithms/ease/ease_scales.h"
#include "likewise/array.h"
#include "likewise/csr.h"

namespace likewise {

class EaseGram {
 public:
  /// All must outlive it; `by_item` is the transpose of `by_user`.
  EaseGram(const CsrView& by_user, const CsrView& by_item, const EaseScales& scales)
      : by_user_(by_user), by_item_(by_item), scales_(scales) {}

  /// S_ij of all j >= i as take(j, S_ij), in double precision, where the two have a user in common.
  /// `sums` has a number for each item; they are 0 before and after.
  template <class Take>
  void row(Index i, Array<double>& sums, const Take& take) const {
    for_users(i, [&](double weight, std::span<const Index> items, std::span<const float> values) {
      for (std::size_t e = 0; e < items.size(); ++e) {
        sums[items[e]] += weight * double{values[e]};
      }
    });
    const double scale = scales_.item[static_cast<std::size_t>(i)];
    for (Index j = i; j < by_user_.cols; ++j) {
      if (sums[j] != 0.0) take(j, sums[j] * (scale * scales_.item[static_cast<std::size_t>(j)]));
      sums[j] = 0.0;
    }
  }

 private:
  /// visit(weight of X_ui, items from i on, their values)
  template <class Visit>
  void for_users(Index i, const Visit& visit) const {
    const auto users = by_item_.row_columns(i);
    const auto values = by_item_.row_values(i);
    for (std::size_t e = 0; e < users.size(); ++e) {
      const auto items = by_user_.row_columns(users[e]);
      const auto from = std::ranges::lower_bound(items, i) - items.begin();
      const auto skipped = static_cast<std::size_t>(from);
      visit(scales_.user[static_cast<std::size_t>(users[e])] * double{values[e]},
            items.subspan(skipped), by_user_.row_values(users[e]).subspan(skipped));
    }
  }

  const CsrView& by_user_;
  const CsrView& by_item_;
  const EaseScales& scales_;
};

}  // namespace likewise
