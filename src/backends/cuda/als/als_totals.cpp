// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/als_totals.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <vector>

#include "algorithms/als/weights.h"
#include "algorithms/row_counts.h"
#include "core/system/parallel.h"

namespace likewise::cuda {
namespace {

constexpr Offset kBlock = Offset{1} << 16;  ///< rows

/// Over some rows that have entries.
struct Lambdas {
  double smallest = std::numeric_limits<double>::max();
  double typical = 0.0;
  Offset smallest_count = std::numeric_limits<Offset>::max();

  void add(const Lambdas& others) {
    smallest = std::min(smallest, others.smallest);
    typical += others.typical;
    smallest_count = std::min(smallest_count, others.smallest_count);
  }
};

/// Of rows with these offsets, among rows with `total` entries.
[[nodiscard]] Lambdas survey(std::span<const Offset> offsets, Offset total, Index cols,
                             const AlsParams& params) {
  const auto rows = static_cast<Offset>(offsets.size()) - 1;
  const bool is_explicit = params.feedback == Feedback::kExplicit;
  std::vector<Lambdas> blocks(static_cast<std::size_t>((rows + kBlock - 1) / kBlock));
  parallel_blocks(rows, kBlock, [&](Offset begin, Offset end, Offset block) {
    Lambdas& here = blocks[static_cast<std::size_t>(block)];
    for (auto r = static_cast<std::size_t>(begin); r < static_cast<std::size_t>(end); ++r) {
      const Offset count = offsets[r + 1] - offsets[r];
      if (count == 0) continue;
      const double value = row_regularization(params, count, cols);
      here.smallest = std::min(here.smallest, value);
      here.typical +=
          (is_explicit ? 1.0 : static_cast<double>(count)) * value / static_cast<double>(total);
      here.smallest_count = std::min(here.smallest_count, count);
    }
  });
  Lambdas all;
  for (const Lambdas& block : blocks) all.add(block);
  return all;
}

[[nodiscard]] SideTotals totals_of(const Lambdas& all, Offset total) {
  if (total == 0) return {};
  return {static_cast<float>(all.smallest), static_cast<float>(all.typical), all.smallest_count};
}

/// Of explicit ratings up to `largest`.
[[nodiscard]] float scale_of(float largest) {
  return std::exp2(std::ceil(std::log2(std::max(1e-30F, 4.0F * largest))));
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
  std::vector<Offset> offsets = column_counts(matrix);
  offsets.insert(offsets.begin(), 0);
  std::partial_sum(offsets.begin(), offsets.end(), offsets.begin());
  return offsets;
}

AlsTotals find_totals(const CsrView& by_user, std::span<const Offset> item_offsets,
                      const AlsParams& params) {
  AlsTotals totals;
  totals.shape = {by_user.rows, by_user.cols, by_user.nnz()};
  const Offset total = by_user.nnz();
  totals.users = totals_of(survey(offsets_of(by_user), total, by_user.cols, params), total);
  totals.items = totals_of(survey(item_offsets, total, by_user.rows, params), total);
  if (params.feedback == Feedback::kExplicit) {
    totals.target_scale = scale_of(largest_value(by_user));
  }
  return totals;
}

AlsTotals find_totals_together(Communicator& ranks, const AlsShape& shape, const CsrView& users,
                               const CsrView& items, const AlsParams& params) {
  struct Survey {
    Lambdas users;
    Lambdas items;
    double largest = 0.0;
  };
  const bool is_explicit = params.feedback == Feedback::kExplicit;
  const Survey mine{survey(offsets_of(users), shape.interactions, users.cols, params),
                    survey(offsets_of(items), shape.interactions, items.cols, params),
                    is_explicit ? largest_value(users) : 0.0};
  std::vector<Survey> all(static_cast<std::size_t>(ranks.size()));
  ranks.all_gather<Survey>({&mine, 1}, all, std::vector<Offset>(all.size(), 1));
  Survey together;
  for (const Survey& one : all) {
    together.users.add(one.users);
    together.items.add(one.items);
    together.largest = std::max(together.largest, one.largest);
  }
  AlsTotals totals{shape, totals_of(together.users, shape.interactions),
                   totals_of(together.items, shape.interactions), 1.0F};
  if (is_explicit) totals.target_scale = scale_of(static_cast<float>(together.largest));
  return totals;
}

}  // namespace likewise::cuda
