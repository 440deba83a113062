// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/half_kernels.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/half_kernels.cpp"
// foreach_target.h comes first:
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
// clang-format on

#include "core/linalg/float16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of sums that stay in registers.
constexpr int kSums = 8;

/// Rows are pages apart, so hardware does not fetch them; and they are read once, so they need not
/// push the panel out of the cache.
void PackHalves(const MatrixView& x, Index first, Index begin, Index end, float scale,
                std::uint16_t* panel, float* largest) {
  constexpr Index kAhead = 8;  // rows
  constexpr Index kLine = 16;  // numbers of a cache line
  const hn::CappedTag<float, 16> d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  const auto factor = hn::Set(d, scale);
  const Index count = std::min(kHalfColumns, x.stride - first);
  for (Index i = begin; i < end; ++i) {
    const float* const ahead = x.row(std::min(i + kAhead, x.rows - 1)) + first;
    for (Index j = 0; j < count; j += kLine) __builtin_prefetch(ahead + j, 0, 0);
    const float* const HWY_RESTRICT from = x.row(i) + first;
    std::uint16_t* const HWY_RESTRICT to = panel + Offset{i} * kHalfColumns;
    auto most = hn::Set(d, largest[i]);
    for (Index j = 0; j < count; j += step) {
      const auto y = hn::Load(d, from + j);
      most = hn::Max(most, hn::Abs(y));
      store_float16(d, hn::Mul(factor, y), to + j);
    }
    largest[i] = hn::GetLane(hn::MaxOfLanes(d, most));
  }
}

/// Numbers from `first` on.
template <int kVectors>
HWY_INLINE float sum_halves(std::span<const Index> rows, Offset count,
                            const float* HWY_RESTRICT weights,
                            const std::uint16_t* HWY_RESTRICT panel, Index first,
                            float* HWY_RESTRICT out) {
  constexpr std::size_t kAhead = 16;  // rows
  constexpr Index kLine = 32;         // numbers of a cache line
  const hn::CappedTag<float, 16> d;
  const auto step = static_cast<Index>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kVectors];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t e = 0; e < static_cast<std::size_t>(count); ++e) {
    const std::uint16_t* const ahead =
        panel + Offset{rows[std::min(e + kAhead, rows.size() - 1)]} * kHalfColumns + first;
    for (Index j = 0; j < kVectors * step; j += kLine) hwy::Prefetch(ahead + j);
    const auto weight = hn::Set(d, weights[e]);
    const std::uint16_t* const row = panel + Offset{rows[e]} * kHalfColumns + first;
    for (int v = 0; v < kVectors; ++v) {
      sums[v] = hn::MulAdd(weight, load_float16(d, row + v * step), sums[v]);
    }
  }
  auto largest = sums[0];
  for (int v = 0; v < kVectors; ++v) {
    hn::Store(sums[v], d, out + first + v * step);
    largest = hn::Max(largest, sums[v]);
  }
  return hn::GetLane(hn::MaxOfLanes(d, largest));
}

float SumHalves(std::span<const Index> rows, Offset count, const float* weights,
                const std::uint16_t* panel, float* out) {
  const auto step = static_cast<Index>(hn::Lanes(hn::CappedTag<float, 16>()));
  float largest = sum_halves<kSums>(rows, count, weights, panel, 0, out);
  for (Index first = kSums * step; first < kHalfColumns; first += kSums * step) {
    largest = std::max(largest, sum_halves<kSums>(rows, count, weights, panel, first, out));
  }
  return largest;
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
HWY_EXPORT(PackHalves);
HWY_EXPORT(SumHalves);

void pack_halves(const MatrixView& x, Index first, Index begin, Index end, float scale,
                 std::uint16_t* panel, float* largest) {
  HWY_DYNAMIC_DISPATCH(PackHalves)(x, first, begin, end, scale, panel, largest);
}
float sum_half_rows(std::span<const Index> rows, Offset count, const float* weights,
                    const std::uint16_t* panel, float* out) {
  return HWY_DYNAMIC_DISPATCH(SumHalves)(rows, count, weights, panel, out);
}

}  // namespace likewise::kernels
#endif
