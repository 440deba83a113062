// SPDX-License-Identifier: Apache-2.0
#include "algorithms/bpr/likes.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/system/parallel.h"

namespace likewise {
namespace {

[[nodiscard]] bool is_like(float value) { return value > 0.0F; }

}  // namespace

CsrMatrix likes_of(const CsrView& by_user) {
  CsrMatrix likes{by_user.rows, by_user.cols, Array<Offset>(Offset{by_user.rows} + 1), {}, {}};
  for (Index row = 0; row < by_user.rows; ++row) {
    likes.offsets[row + 1] =
        likes.offsets[row] + std::ranges::count_if(by_user.row_values(row), is_like);
  }
  likes.columns = Array<Index>::uninitialized(likes.offsets[by_user.rows]);
  likes.values = Array<float>::uninitialized(likes.offsets[by_user.rows]);
  parallel_for(by_user.rows, 1024, [&](Offset row) {
    Offset to = likes.offsets[row];
    for (Offset at = by_user.offsets[row]; at < by_user.offsets[row + 1]; ++at) {
      if (!is_like(by_user.values[at])) continue;
      likes.columns[to] = by_user.columns[at];
      likes.values[to++] = by_user.values[at];
    }
  });
  return likes;
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
  const auto longest = [](const Matrix& rows) {
    double squares = 0.0;
    for (Index row = 0; row < rows.rows(); ++row) {
      double sum = 0.0;
      for (const float x : rows.row_span(row)) sum += double{x} * double{x};
      squares = std::max(squares, sum);
    }
    return std::sqrt(squares);
  };
  double bias = 0.0;
  for (const float b : factors.item_bias) bias = std::max(bias, std::abs(double{b}));
  // -ln sigma(m) <= ln 2 + |m|, |m| <= |x| (|y_i| + |y_j|) + |b_i| + |b_j|
  const double margin = 2.0 * (longest(factors.users) * longest(factors.items) + bias);
  return static_cast<double>(likes) * (std::log(2.0) + margin);
}

}  // namespace likewise
