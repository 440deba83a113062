// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/host/prediction_plan.h"

#include <algorithm>

#include <fmt/format.h>

#include "likewise/error.h"

namespace likewise {
namespace {

constexpr Index kMostRows = 1024;               ///< at a time
constexpr Offset kMostBatch = Offset{1} << 30;  ///< bytes of what they need
constexpr Offset kPinned = Offset{16} << 20;
constexpr Offset kFloatBytes = sizeof(float);

/// Fills in what the rows of a batch take and the totals; how many rows there are at a time.
[[nodiscard]] Index resolve(MemoryPlan& plan, Offset row_bytes, Index rows, Offset available) {
  plan.placement = "everything on the GPU";
  plan.available = available;
  plan.machine = kPinned;
  Offset tables = 0;
  for (const MemoryPlan::Part& part : plan.parts) tables += part.bytes;
  const Offset left = std::min(kMostBatch, available - tables);
  const auto at_a_time = static_cast<Index>(
      std::clamp<Offset>(left / row_bytes, 1, std::clamp<Index>(rows, 1, kMostRows)));
  plan.parts.push_back(
      {fmt::format("{} rows that are predicted", at_a_time), at_a_time * row_bytes});
  plan.total = tables + at_a_time * row_bytes;
  if (plan.total > available) {
    throw Error(ErrorKind::kOutOfMemory,
                fmt::format("predictions need more memory than the GPU has left; use the cpu\n{}",
                            describe(plan)));
  }
  return at_a_time;
}

[[nodiscard]] Offset power_of_two(Offset least) {
  Offset power = 2;
  while (power < least) power *= 2;
  return power;
}

}  // namespace

GpuFactorPlan plan_gpu_factor_predictions(const GpuFactorShape& shape, Offset available) {
  constexpr Index kStep = 64;
  GpuFactorPlan plan;
  plan.pitch = (std::max<Index>(1, shape.factors) + kStep - 1) / kStep * kStep;
  const Offset row = (Offset{plan.pitch} + 1) * kFloatBytes;  // and a bias
  plan.memory.parts = {{"users", shape.users * row},
                       {"items", shape.items * row},
                       {"pairs that are predicted", kPairsAtATime * 3 * kFloatBytes}};
  const Offset a_row = shape.items * kFloatBytes + Offset{sizeof(Index) + sizeof(double)};
  plan.rows = resolve(plan.memory, a_row, shape.users, available);
  return plan;
}

GpuRatingPlan plan_gpu_knn_predictions(const GpuRatingShape& shape, Offset available) {
  GpuRatingPlan plan;
  plan.strips = std::max<Index>(1, (shape.columns + kStripColumns - 1) / kStripColumns);
  const auto cells = [&] { return (plan.strips + plan.strips_of_cell - 1) / plan.strips_of_cell; };
  // No more cells than entries, except for a few.
  while (cells() > 1 && Offset{shape.rows} * cells() > shape.entries) plan.strips_of_cell *= 2;
  plan.cells = cells();
  plan.keys = power_of_two(Offset{shape.rows} + 1);
  const Offset pair_keys =
      power_of_two(std::min(shape.most_asked, shape.longest) + 2 * kPairThreads);
  plan.pair_keys = static_cast<int>(pair_keys);
  if (pair_keys > kSharedPairKeys) {
    constexpr Offset kSpare = Offset{256} << 20;
    plan.pair_blocks = static_cast<int>(std::clamp<Offset>(kSpare / (pair_keys * 8), 16, 1024));
  }
  constexpr Offset kEntryBytes = sizeof(Index) + sizeof(float);
  constexpr Offset kLevels = 24;  // of a row; 24 of a column too, with its place and raters
  plan.memory.parts = {
      {"similarities", shape.search},
      {"kept neighbours",
       shape.kept > 0 ? shape.kept * kEntryBytes + (Offset{shape.rows} + 1) * 8 : 0},
      {"ratings by row", shape.entries * kEntryBytes +
                             Offset{shape.rows} * (plan.cells + 1) * Offset{sizeof(Offset)}},
      {"ratings by column", shape.entries * kEntryBytes + (Offset{shape.columns} + 1) * 8},
      {"means and biases", (Offset{shape.rows} + shape.columns) * kLevels},
      {"pairs that are predicted",
       kPairsAtATime * 3 * kFloatBytes + plan.pair_blocks * pair_keys * 8}};
  // Its number, norm and count; similarities, the rows that it may ask in their order, ratings.
  const Offset a_row = sizeof(Index) + 2 * Offset{sizeof(double)} +
                       (Offset{shape.rows} + shape.columns) * kFloatBytes +
                       plan.keys * Offset{sizeof(std::uint64_t)};
  plan.rows = resolve(plan.memory, a_row, shape.rows, available);
  return plan;
}

}  // namespace likewise
