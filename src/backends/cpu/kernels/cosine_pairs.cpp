// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/cosine_pairs.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/cosine_pairs.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

using Floats = HWY_CAPPED(float, 16);
using Doubles = HWY_CAPPED(double, 8);

/// Writes first + the lanes of the mask; returns how many. Without a branch: most often some lane
/// hits, and none knows which.
HWY_INLINE Index write_lanes(hn::Mask<Floats> mask, Index first, Index* HWY_RESTRICT to) {
  const hn::RebindToSigned<Floats> d;
  return static_cast<Index>(hn::CompressStore(hn::Iota(d, first), hn::RebindMask(d, mask), d, to));
}

Index scale_and_find(float* HWY_RESTRICT sums, Index count, float factor, float threshold,
                     Index* HWY_RESTRICT hits) {
  const Floats d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto needed = hn::Set(d, threshold);
  const auto scale = hn::Set(d, factor);
  Index found = 0;
  for (Index i = 0; i < count; i += lanes) {
    const auto estimate = hn::Mul(hn::Load(d, sums + i), scale);
    hn::Store(estimate, d, sums + i);
    found += write_lanes(hn::Ge(estimate, needed), i, hits + found);
  }
  return found;
}

Index find_reaching(const float* HWY_RESTRICT estimates, const float* HWY_RESTRICT thresholds,
                    Index count, Index* HWY_RESTRICT hits) {
  const Floats d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  Index found = 0;
  for (Index i = 0; i < count; i += lanes) {
    const auto hit = hn::Ge(hn::Load(d, estimates + i), hn::LoadU(d, thresholds + i));
    found += write_lanes(hit, i, hits + found);
  }
  return found;
}

void add_dots(const float* HWY_RESTRICT x, const float* const* HWY_RESTRICT rows, Index length,
              double* HWY_RESTRICT sums) {
  const Doubles d;
  const hn::Rebind<float, Doubles> f;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const float* row[kDots];
  hn::Vec<Doubles> sum[kDots];
  HWY_UNROLL(8)
  for (Index i = 0; i < kDots; ++i) {
    row[i] = rows[i];
    sum[i] = hn::Zero(d);
  }
  Offset k = 0;
  for (; k + lanes <= length; k += lanes) {
    const auto a = hn::PromoteTo(d, hn::LoadU(f, x + k));
    HWY_UNROLL(8)
    for (Index i = 0; i < kDots; ++i) {
      sum[i] = hn::MulAdd(a, hn::PromoteTo(d, hn::LoadU(f, row[i] + k)), sum[i]);
    }
  }
  HWY_UNROLL(8)
  for (Index i = 0; i < kDots; ++i) sums[i] += hn::GetLane(hn::SumOfLanes(d, sum[i]));
  for (; k < length; ++k) {
    for (Index i = 0; i < kDots; ++i) sums[i] += double{x[k]} * double{row[i][k]};
  }
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(scale_and_find);
HWY_EXPORT(find_reaching);
HWY_EXPORT(add_dots);

Index scale_and_find(float* sums, Index count, float factor, float threshold, Index* hits) {
  return HWY_DYNAMIC_DISPATCH(scale_and_find)(sums, count, factor, threshold, hits);
}

Index find_reaching(const float* estimates, const float* thresholds, Index count, Index* hits) {
  return HWY_DYNAMIC_DISPATCH(find_reaching)(estimates, thresholds, count, hits);
}

void add_dots(const float* x, const float* const* rows, Index length, double* sums) {
  HWY_DYNAMIC_DISPATCH(add_dots)(x, rows, length, sums);
}

}  // namespace likewise::kernels
#endif
