// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/find_hits.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/find_hits.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = HWY_CAPPED(float, 16);

// A tile is kTileQueries queries by kTileVectors vectors of items: 24 sums of 32 registers with
// AVX-512, 12 of 16 below, each item vector loaded once for all queries of the tile.
constexpr Index kTileQueries = 6;
constexpr Index kTileVectors = hn::MaxLanes(Floats()) == 16 ? 4 : 2;

/// Hits of `kQueries` queries among kTileVectors vectors of items from number `shift` of the panel
/// on, whose biases begin at `bias`. Without factors there is no panel.
template <Index kQueries>
HWY_INLINE void tile(const float* HWY_RESTRICT panel, const float* HWY_RESTRICT bias, Index factors,
                     const float* const* queries, const float* thresholds, Index shift,
                     std::uint64_t* hits) {
  const Floats d;
  constexpr Offset kLanes = static_cast<Offset>(hn::MaxLanes(Floats()));
  hn::Vec<Floats> sum[kQueries][kTileVectors];
  HWY_UNROLL(8)
  for (Index q = 0; q < kQueries; ++q) {
    HWY_UNROLL(4)
    for (Index v = 0; v < kTileVectors; ++v) sum[q][v] = hn::Load(d, bias + v * kLanes);
  }
  for (Index j = 0; j < factors; ++j) {
    hn::Vec<Floats> item[kTileVectors];
    HWY_UNROLL(4)
    for (Index v = 0; v < kTileVectors; ++v) {
      item[v] = hn::Load(d, panel + Offset{j} * kPanelItems + shift + v * kLanes);
    }
    HWY_UNROLL(8)
    for (Index q = 0; q < kQueries; ++q) {
      const auto factor = hn::Set(d, queries[q][j]);
      HWY_UNROLL(4)
      for (Index v = 0; v < kTileVectors; ++v) sum[q][v] = hn::MulAdd(factor, item[v], sum[q][v]);
    }
  }
  HWY_UNROLL(8)
  for (Index q = 0; q < kQueries; ++q) {
    auto best = sum[q][0];
    HWY_UNROLL(4)
    for (Index v = 1; v < kTileVectors; ++v) best = hn::Max(best, sum[q][v]);
    const auto threshold = hn::Set(d, thresholds[q]);
    if (HWY_LIKELY(hn::AllFalse(d, hn::Ge(best, threshold)))) continue;
    HWY_UNROLL(4)
    for (Index v = 0; v < kTileVectors; ++v) {
      std::uint8_t bytes[8] = {};
      hn::StoreMaskBits(d, hn::Ge(sum[q][v], threshold), bytes);
      const std::uint64_t bits = bytes[0] | std::uint64_t{bytes[1]} << 8;
      hits[q] |= bits << (shift + v * kLanes);
    }
  }
}

template <Index kQueries>
HWY_INLINE void whole_panel(const float* panel, const float* bias, Index factors,
                            const float* const* queries, const float* thresholds,
                            std::uint64_t* hits) {
  constexpr Index kTileItems = kTileVectors * static_cast<Index>(hn::MaxLanes(Floats()));
  for (Index q = 0; q < kQueries; ++q) hits[q] = 0;
  for (Index first = 0; first < kPanelItems; first += kTileItems) {
    tile<kQueries>(panel, bias + first, factors, queries, thresholds, first, hits);
  }
}

void find_hits(const float* panel, const float* bias, Index factors, const float* const* queries,
               const float* thresholds, Index count, std::uint64_t* hits) {
  Index q = 0;
  for (; q + kTileQueries <= count; q += kTileQueries) {
    whole_panel<kTileQueries>(panel, bias, factors, queries + q, thresholds + q, hits + q);
  }
  for (; q + 2 <= count; q += 2) {
    whole_panel<2>(panel, bias, factors, queries + q, thresholds + q, hits + q);
  }
  if (q < count) whole_panel<1>(panel, bias, factors, queries + q, thresholds + q, hits + q);
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(find_hits);

void find_hits(const float* panel, const float* bias, Index factors, const float* const* queries,
               const float* thresholds, Index count, std::uint64_t* hits) {
  HWY_DYNAMIC_DISPATCH(find_hits)(panel, bias, factors, queries, thresholds, count, hits);
}

}  // namespace likewise::kernels
#endif
