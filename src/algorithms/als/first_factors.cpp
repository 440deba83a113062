// SPDX-License-Identifier: Apache-2.0
#include "algorithms/als/first_factors.h"

#include <cmath>
#include <numeric>
#include <vector>

#include "algorithms/als/als.h"
#include "core/random.h"
#include "core/system/parallel.h"

namespace likewise {
namespace {

[[nodiscard]] float mean_value(const CsrView& matrix) {
  constexpr Offset kBlock = Offset{1} << 20;
  std::vector<double> sums(static_cast<std::size_t>((matrix.nnz() + kBlock - 1) / kBlock));
  parallel_blocks(matrix.nnz(), kBlock, [&](Offset begin, Offset end, Offset block) {
    double sum = 0.0;
    for (Offset i = begin; i < end; ++i) sum += matrix.values[i];
    sums[static_cast<std::size_t>(block)] = sum;
  });
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  return matrix.nnz() == 0 ? 0.0F : static_cast<float>(total / static_cast<double>(matrix.nnz()));
}

}  // namespace

bool has_biases(const AlsParams& params) {
  return params.feedback == Feedback::kExplicit && params.biases;
}

Factors first_factors(const CsrView& by_user, const AlsParams& params) {
  Factors first{draw_factors(Side::kUsers, by_user.rows, params),
                draw_factors(Side::kItems, by_user.cols, params),
                {},
                {},
                0.0F};
  if (has_biases(params)) {
    first.user_bias = Array<float>(by_user.rows);
    first.item_bias = Array<float>(by_user.cols);
    first.global_mean = mean_value(by_user);
  }
  return first;
}

Matrix draw_factors(Side side, Index rows, const AlsParams& params) {
  return draw_factor_rows(side, 0, rows, params);
}

Matrix draw_factor_rows(Side side, Index first, Index count, const AlsParams& params) {
  Matrix drawn(count, params.factors);
  const double scale = params.init_stddev / std::sqrt(static_cast<double>(params.factors));
  const auto stream = side == Side::kUsers ? kStreamUserFactors : kStreamItemFactors;
  parallel_for(count, 256, [&](Offset r) {
    CounterRandom random(params.seed, stream, static_cast<std::uint64_t>(first + r));
    for (float& x : drawn.row_span(static_cast<Index>(r))) {
      const double drawn = scale * random.normal();
      x = static_cast<float>(params.nonnegative ? std::abs(drawn) : drawn);
    }
  });
  return drawn;
}

}  // namespace likewise
