// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/knn_walk.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/knn_walk.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

/// How many rows ahead entries are prefetched: their order is that of similarities.
constexpr std::size_t kAhead = 4;

HWY_INLINE const WalkStart* start_of(const WalkRows& rows, Index row, Index block) {
  return rows.starts + Offset{row} * (rows.blocks + 1) + block;
}

}  // namespace

/// Compiled per target for its instructions that count bits.
void walk(const WalkRows& rows, Index block, std::span<const WeightedRow> near, Offset open_columns,
          const WalkCells& cells) {
  for (std::size_t n = 0; n < near.size(); ++n) {
    if (n + 2 * kAhead < near.size())
      hwy::Prefetch(start_of(rows, near[n + 2 * kAhead].row, block));
    if (n + kAhead < near.size()) {
      const WalkStart* const next = start_of(rows, near[n + kAhead].row, block);
      hwy::Prefetch(rows.masks + next->word);
      hwy::Prefetch(rows.words + next->word);
      hwy::Prefetch(rows.values + next->value);
    }
    const WalkStart* const start = start_of(rows, near[n].row, block);
    const float* values = rows.values + start[0].value;
    const double s = double{near[n].similarity};
    const double weight = s < 0.0 ? -s : s;
    for (Offset w = start[0].word; w < start[1].word; ++w) {
      const std::uint64_t mask = rows.masks[w];
      std::uint64_t& open = cells.open[rows.words[w]];
      for (std::uint64_t hits = mask & open; hits != 0; hits &= hits - 1) {
        const std::uint64_t bit = hits & (0 - hits);
        const auto column =
            std::size_t{rows.words[w]} * kWordColumns + hwy::Num0BitsBelowLS1Bit_Nonzero64(bit);
        WalkSums& sums = cells.sums[column];
        sums.products += s * double{values[hwy::PopCount(mask & (bit - 1))]};
        sums.weights += weight;
        if (--cells.left[column] == 0) {
          open &= ~bit;
          if (--open_columns == 0) return;
        }
      }
      values += hwy::PopCount(mask);
    }
  }
}

}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(walk);

void walk_block(const WalkRows& rows, Index block, std::span<const WeightedRow> near,
                Offset open_columns, const WalkCells& cells) {
  HWY_DYNAMIC_DISPATCH(walk)(rows, block, near, open_columns, cells);
}

}  // namespace likewise::kernels
#endif
