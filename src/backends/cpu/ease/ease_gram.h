// SPDX-License-Identifier: Apache-2.0
/// Rows of S = D^(-1/2) X' D_U^(-b) X D^(-1/2), one at a time, added up as the products of a search
/// for neighbours are (kernels/pair_sums.h).
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <optional>
#include <span>
#include <vector>

#include "algorithms/ease/ease_scales.h"
#include "backends/cpu/kernels/pair_sums.h"
#include "backends/cpu/knn/exact_sums.h"
#include "backends/cpu/knn/few_values.h"
#include "backends/cpu/knn/positions_by_column.h"
#include "core/system/parallel.h"
#include "likewise/array.h"
#include "likewise/csr.h"

namespace likewise {

/// Items are numbered by their entries, the fewest first: what a row has from its own number on is
/// then nearly all in the full heads of the users. Number: std::uint16_t or Index. SumOf: double,
/// or float where it holds every sum.
template <class Number, class SumOf>
class EaseGram {
 public:
  using Sum = SumOf;

  EaseGram(const CsrView& by_user, const EaseScales& scales, const std::optional<FewValues>& few)
      : by_item_(transpose(by_user)),
        ranks_(by_falling_entries(by_item_.view())),
        number_of_(ranks_.size()),
        scales_(ranks_.size()),
        by_user_(by_item_.view(), ranks_,
                 kernels::groups_pay() ? ColumnHeads::kGrouped : ColumnHeads::kListed, few) {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      const auto at = static_cast<std::size_t>(ranks_[rank]);
      number_of_[at] = items() - 1 - static_cast<Index>(rank);
      scales_[rank] = scales.item[at];
    }
    parallel_for(by_item_.nnz(), Offset{1} << 16, [&](Offset e) {
      const double scale = scales.user[static_cast<std::size_t>(by_item_.columns[e])];
      by_item_.values[e] = static_cast<float>(scale * double{by_item_.values[e]});
    });
  }

  [[nodiscard]] Index items() const { return by_item_.rows; }
  [[nodiscard]] Index item(Index number) const {
    return ranks_[static_cast<std::size_t>(items() - 1 - number)];
  }
  [[nodiscard]] Index number(Index item) const {
    return number_of_[static_cast<std::size_t>(item)];
  }

  /// Room for the sums of a row, all 0.
  [[nodiscard]] Array<Sum> make_sums() const {
    return Array<Sum>((Offset{items()} + kernels::kGroup - 1) / kernels::kGroup * kernels::kGroup);
  }

  /// S_ij of all numbers j >= i as take(j, S_ij), in double precision, where the two have a user in
  /// common. `sums` are 0 before and after.
  template <class Take>
  void row(Index i, Array<Sum>& sums, const Take& take) const {
    if (by_item_.view().row_size(item(i)) == 0) return;
    const Index last = items() - 1;
    const Index ranks = items() - i;
    kernels::add_products(by_user_.pass(by_item_.view(), item(i), ranks), sums.data());
    const double scale = scale_of(last - i);
    for (Index rank = 0; rank < ranks; ++rank) {
      if (sums[rank] == Sum{0}) continue;
      take(last - rank, double{sums[rank]} * (scale * scale_of(rank)));
      sums[rank] = 0;
    }
  }

 private:
  /// Other than by_falling_length(), of items with as many entries the last first: their numbers
  /// then rise as they do, and a singular system names the same one on every device.
  [[nodiscard]] static std::vector<Index> by_falling_entries(const CsrView& rows) {
    std::vector<Index> order(static_cast<std::size_t>(rows.rows));
    std::iota(order.rbegin(), order.rend(), 0);
    std::ranges::stable_sort(order, std::greater(), [&](Index row) { return rows.row_size(row); });
    return order;
  }

  [[nodiscard]] double scale_of(Index rank) const {
    return scales_[static_cast<std::size_t>(rank)];
  }

  CsrMatrix by_item_;                  ///< X_ui d_u^(-b)
  std::vector<Index> ranks_;           ///< items, those with the most entries first
  std::vector<Index> number_of_;       ///< of each item
  std::vector<double> scales_;         ///< of each rank
  PositionsByColumn<Number> by_user_;  ///< X_ui
};

/// Whether the sums of X' X are exact, of users that all weigh 1.
[[nodiscard]] inline bool float_holds_sums(std::span<const float> values,
                                           const EaseScales& scales) {
  const auto is_one = [](double scale) { return scale == 1.0; };
  if (!std::ranges::all_of(scales.user, is_one)) return false;
  double largest = 0.0;
  for (const double value : values) largest = std::max(largest, std::abs(value));
  const auto users = static_cast<double>(scales.user.size());
  return exact_in_float(values, largest * largest * users);
}

/// Returns work(gram), by the narrowest types that do.
template <class Work>
auto with_ease_gram(const CsrView& by_user, const EaseScales& scales, const Work& work) {
  constexpr Index kFewItems = Index{std::numeric_limits<std::uint16_t>::max()} + 1;
  const std::span<const float> values = by_user.all_values();
  const auto few = FewValues::of(values);
  if (by_user.cols > kFewItems) return work(EaseGram<Index, double>(by_user, scales, few));
  if (float_holds_sums(few ? few->all() : values, scales)) {
    return work(EaseGram<std::uint16_t, float>(by_user, scales, few));
  }
  return work(EaseGram<std::uint16_t, double>(by_user, scales, few));
}

}  // namespace likewise
