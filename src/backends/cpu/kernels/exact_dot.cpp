// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/exact_dot.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/exact_dot.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;
using Doubles = HWY_CAPPED(double, 8);

/// sum + a b; the product is exact.
struct AddProduct {
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    return hn::MulAdd(a, b, sum);
  }
};

/// sum + (a - b)^2. The square is rounded before it is added, with FMA and without (the file is
/// compiled with -ffp-contract=off).
struct AddSquaredDifference {
  template <class V>
  HWY_INLINE V operator()(V a, V b, V sum) const {
    const V difference = hn::Sub(a, b);
    return hn::Add(sum, hn::Mul(difference, difference));
  }
};

/// Eight running sums, whatever the width of a vector; then pairs, quarters, halves.
template <class Add>
HWY_INLINE double total(const float* HWY_RESTRICT a, const float* HWY_RESTRICT b, Index length,
                        const Add& add) {
  const Doubles d;
  const hn::Rebind<float, Doubles> f;
  constexpr Offset kLanes = static_cast<Offset>(hn::MaxLanes(Doubles()));
  constexpr Offset kSums = 8 / kLanes;
  hn::Vec<Doubles> sum[kSums];
  HWY_UNROLL(8)
  for (Index s = 0; s < kSums; ++s) sum[s] = hn::Zero(d);
  for (Index j = 0; j < length; j += 8) {
    HWY_UNROLL(8)
    for (Index s = 0; s < kSums; ++s) {
      const auto left = hn::PromoteTo(d, hn::LoadU(f, a + j + s * kLanes));
      const auto right = hn::PromoteTo(d, hn::LoadU(f, b + j + s * kLanes));
      sum[s] = add(left, right, sum[s]);
    }
  }
  HWY_ALIGN double lanes[8];
  HWY_UNROLL(8)
  for (Index s = 0; s < kSums; ++s) hn::Store(sum[s], d, lanes + s * kLanes);
  return ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
         ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
}

double exact_dot(const float* a, const float* b, Index length) {
  return total(a, b, length, AddProduct());
}

double exact_squared_distance(const float* a, const float* b, Index length) {
  return total(a, b, length, AddSquaredDifference());
}

void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out) {
  for (Index r = 0; r < count; ++r) out[r] = exact_dot(query, rows + Offset{r} * stride, length);
}

void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out) {
  for (Index r = 0; r < count; ++r) {
    out[r] = exact_squared_distance(query, rows + Offset{r} * stride, length);
  }
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(exact_dot);
HWY_EXPORT(exact_dots);
HWY_EXPORT(exact_squared_distance);
HWY_EXPORT(exact_squared_distances);

double exact_dot(const float* a, const float* b, Index length) {
  return HWY_DYNAMIC_DISPATCH(exact_dot)(a, b, length);
}

void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out) {
  HWY_DYNAMIC_DISPATCH(exact_dots)(query, rows, stride, length, count, out);
}

double exact_squared_distance(const float* a, const float* b, Index length) {
  return HWY_DYNAMIC_DISPATCH(exact_squared_distance)(a, b, length);
}

void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out) {
  HWY_DYNAMIC_DISPATCH(exact_squared_distances)(query, rows, stride, length, count, out);
}

}  // namespace likewise::kernels
#endif
