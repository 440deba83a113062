// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_totals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "algorithms/als/weights.h"
#include "core/parallel.h"

namespace likewise::cuda {
namespace {

constexpr Offset kBlock = Offset{1} << 16;  ///< rows

/// Over the rows of a block that have entries.
struct Lambdas {
  double smallest = std::numeric_limits<double>::max();
  double typical = 0.0;
  Offset smallest_count = std::numeric_limits<Offset>::max();
};

[[nodiscard]] SideTotals survey(std::span<const Offset> offsets, Index cols,
                                const AlsParams& params) {
  const auto rows = static_cast<Offset>(offsets.size()) - 1;
  const auto total = static_cast<double>(std::max<Offset>(1, offsets.back()));
  const bool is_explicit = params.feedback == Feedback::kExplicit;
  std::vector<Lambdas> blocks(static_cast<std::size_t>((rows + kBlock - 1) / kBlock));
  parallel_blocks(rows, kBlock, [&](Offset begin, Offset end, Offset block) {
    Lambdas& here = blocks[static_cast<std::size_t>(block)];
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
      const Offset count = offsets[r + 1] - offsets[r];
      if (count == 0) continue;
      const double value = row_regularization(params, count, cols);
      here.smallest = std::min(here.smallest, value);
      here.typical += (is_explicit ? 1.0 : static_cast<double>(count)) * value / total;
      here.smallest_count = std::min(here.smallest_count, count);
    }
  });
  Lambdas all;
  for (const Lambdas& block : blocks) {
    all.smallest = std::min(all.smallest, block.smallest);
    all.typical += block.typical;
    all.smallest_count = std::min(all.smallest_count, block.smallest_count);
  }
  if (offsets.back() == 0) return {};
  return {static_cast<float>(all.smallest), static_cast<float>(all.typical), all.smallest_count};
}

[[nodiscard]] float largest_value(const CsrView& matrix) {
  constexpr Offset kValues = Offset{1} << 18;
  const Offset blocks = (matrix.nnz() + kValues - 1) / kValues;
  std::vector<float> largest(static_cast<std::size_t>(blocks));
  parallel_blocks(matrix.nnz(), kValues, [&](Offset begin, Offset end, Offset block) {
    float most = 0.0F;
    for (Offset i = begin; i < end; ++i) most = std::max(most, std::abs(matrix.values[i]));
    largest[static_cast<std::size_t>(block)] = most;
  });
  return largest.empty() ? 0.0F : *std::ranges::max_element(largest);
}

}  // namespace

std::vector<Offset> column_offsets(const CsrView& matrix) {
  constexpr Offset kCounters = Offset{1} << 25;  // of all blocks
  const auto cols = static_cast<std::size_t>(matrix.cols);
  const Offset blocks = std::clamp<Offset>(kCounters / std::max(1, matrix.cols), 2, 64);
  const Offset size = std::max<Offset>(1, (matrix.nnz() + blocks - 1) / blocks);
  std::vector<std::vector<Offset>> counts(static_cast<std::size_t>(blocks));
  parallel_blocks(matrix.nnz(), size, [&](Offset begin, Offset end, Offset block) {
    std::vector<Offset>& here = counts[static_cast<std::size_t>(block)];
    here.resize(cols);
    for (Offset i = begin; i < end; ++i) ++here[static_cast<std::size_t>(matrix.columns[i])];
  });
  std::vector<Offset> offsets(cols + 1, 0);
  for (const std::vector<Offset>& here : counts) {
    for (std::size_t c = 0; c < here.size(); ++c) offsets[c + 1] += here[c];
  }
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

AlsTotals find_totals(const CsrView& by_user, std::span<const Offset> item_offsets,
                      const AlsParams& params) {
  AlsTotals totals;
  totals.shape = {by_user.rows, by_user.cols, by_user.nnz()};
  totals.users =
      survey({by_user.offsets, static_cast<std::size_t>(by_user.rows) + 1}, by_user.cols, params);
  totals.items = survey(item_offsets, by_user.rows, params);
  if (params.feedback == Feedback::kExplicit) {
    const float largest = largest_value(by_user);
    totals.target_scale = std::exp2(std::ceil(std::log2(std::max(1e-30F, 4.0F * largest))));
  }
  return totals;
}

}  // namespace likewise::cuda
