// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/likes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/linalg/dense.h"
#include "core/linalg/fill_rows.h"

namespace likewise {
namespace {

[[nodiscard]] bool is_like(float value) { return value > 0.0F; }

}  // namespace

CsrMatrix likes_of(const CsrView& by_user) {
  const auto count = [&](Index row) {
    return std::ranges::count_if(by_user.row_values(row), is_like);
  };
  return fill_rows(by_user.rows, by_user.cols, count,
                   [&](Index row, Index* columns, float* values) {
                     for (Offset at = by_user.offsets[row]; at < by_user.offsets[row + 1]; ++at) {
                       if (!is_like(by_user.values[at])) continue;
                       *columns++ = by_user.columns[at];
                       *values++ = by_user.values[at];
                     }
                   });
}

CsrMatrix likes_of(CsrMatrix by_user) {
  const bool all = std::ranges::all_of(by_user.values.span(), is_like);
  return all ? std::move(by_user) : likes_of(by_user.view());
}

std::vector<Offset> like_counts(const CsrView& by_user) {
  std::vector<Offset> counts(static_cast<std::size_t>(by_user.cols));

  for (Offset at = 0; at < by_user.nnz(); ++at) {
    counts[static_cast<std::size_t>(by_user.columns[at])] += is_like(by_user.values[at]) ? 1 : 0;
  }
  return counts;
}

double losses_of_first(Offset likes, const Factors& factors) {
  double bias = 0.0;
  for (const float b : factors.item_bias) bias = std::max(bias, std::abs(double{b}));
  // -ln sigma(m) <= ln 2 + |m|, |m| <= |x| (|y_i| + |y_j|) + |b_i| + |b_j|
  const double margin =
      2.0 * (longest_row(factors.users.view()) * longest_row(factors.items.view()) + bias);
  return static_cast<double>(likes) * (std::log(2.0) + margin);
}

}  // namespace likewise
