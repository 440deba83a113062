// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/exact_dot.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/exact_dot.cpp"
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

using Floats = hn::Rebind<float, Doubles>;
constexpr Offset kLanes = static_cast<Offset>(hn::MaxLanes(Doubles()));
constexpr Index kVectors = static_cast<Index>(8 / kLanes);
/// Pairs side by side: their additions do not wait for each other. All sums fit the registers.
constexpr Index kPairs = kLanes == 8 ? 4 : 2;

/// Of each pair eight running sums, whatever the width of a vector; then pairs, quarters, halves.
template <Index kCount, class Add>
HWY_INLINE void totals(const float* const* HWY_RESTRICT a, const float* const* HWY_RESTRICT b,
                       Index length, const Add& add, double* HWY_RESTRICT out) {
  const Doubles d;
  const Floats f;
  hn::Vec<Doubles> sum[kCount][kVectors];
  HWY_UNROLL(4)
  for (Index p = 0; p < kCount; ++p) {
    HWY_UNROLL(8)
    for (Index s = 0; s < kVectors; ++s) sum[p][s] = hn::Zero(d);
  }
  for (Index j = 0; j < length; j += 8) {
    HWY_UNROLL(4)
    for (Index p = 0; p < kCount; ++p) {
      HWY_UNROLL(8)
      for (Index s = 0; s < kVectors; ++s) {
        const auto left = hn::PromoteTo(d, hn::LoadU(f, a[p] + j + s * kLanes));
        const auto right = hn::PromoteTo(d, hn::LoadU(f, b[p] + j + s * kLanes));
        sum[p][s] = add(left, right, sum[p][s]);
      }
    }
  }
  HWY_UNROLL(4)
  for (Index p = 0; p < kCount; ++p) {
    HWY_ALIGN double lanes[8];
    HWY_UNROLL(8)
    for (Index s = 0; s < kVectors; ++s) hn::Store(sum[p][s], d, lanes + s * kLanes);
    out[p] = ((lanes[0] + lanes[4]) + (lanes[2] + lanes[6])) +
             ((lanes[1] + lanes[5]) + (lanes[3] + lanes[7]));
  }
}

template <class Add>
HWY_INLINE void of_pairs(const float* const* a, const float* const* b, Index length, Index count,
                         const Add& add, double* out) {
  Index p = 0;
  for (; p + kPairs <= count; p += kPairs) totals<kPairs>(a + p, b + p, length, add, out + p);
  for (; p < count; ++p) totals<1>(a + p, b + p, length, add, out + p);
}

/// row_at(r) is where row r begins.
template <class RowAt, class Add>
HWY_INLINE void of_rows(const float* query, const RowAt& row_at, Index length, Index count,
                        const Add& add, double* out) {
  const float* a[kPairs];
  const float* b[kPairs];
  for (Index p = 0; p < kPairs; ++p) a[p] = query;
  for (Index r = 0; r < count; r += kPairs) {
    const Index some = count - r < kPairs ? count - r : kPairs;
    for (Index p = 0; p < some; ++p) b[p] = row_at(r + p);
    of_pairs(a, b, length, some, add, out + r);
  }
}

void exact_dot_pairs(const float* const* a, const float* const* b, Index length, Index count,
                     double* out) {
  of_pairs(a, b, length, count, AddProduct(), out);
}

void exact_squared_distance_pairs(const float* const* a, const float* const* b, Index length,
                                  Index count, double* out) {
  of_pairs(a, b, length, count, AddSquaredDifference(), out);
}

void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out) {
  of_rows(
      query, [&](Index r) { return rows + Offset{r} * stride; }, length, count, AddProduct(), out);
}

void exact_dots_of(const float* query, const MatrixView& m, std::span<const Index> rows,
                   double* out) {
  of_rows(
      query, [&](Index r) { return m.row(rows[static_cast<std::size_t>(r)]); },
      padded_stride(m.cols), static_cast<Index>(rows.size()), AddProduct(), out);
}

void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out) {
  of_rows(
      query, [&](Index r) { return rows + Offset{r} * stride; }, length, count,
      AddSquaredDifference(), out);
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(exact_dot_pairs);
HWY_EXPORT(exact_dots);
HWY_EXPORT(exact_dots_of);
HWY_EXPORT(exact_squared_distance_pairs);
HWY_EXPORT(exact_squared_distances);

void exact_dot_pairs(const float* const* a, const float* const* b, Index length, Index count,
                     double* out) {
  HWY_DYNAMIC_DISPATCH(exact_dot_pairs)(a, b, length, count, out);
}

void exact_dots(const float* query, const float* rows, Index stride, Index length, Index count,
                double* out) {
  HWY_DYNAMIC_DISPATCH(exact_dots)(query, rows, stride, length, count, out);
}

void exact_dots_of(const float* query, const MatrixView& m, std::span<const Index> rows,
                   double* out) {
  HWY_DYNAMIC_DISPATCH(exact_dots_of)(query, m, rows, out);
}

void exact_squared_distance_pairs(const float* const* a, const float* const* b, Index length,
                                  Index count, double* out) {
  HWY_DYNAMIC_DISPATCH(exact_squared_distance_pairs)(a, b, length, count, out);
}

void exact_squared_distances(const float* query, const float* rows, Index stride, Index length,
                             Index count, double* out) {
  HWY_DYNAMIC_DISPATCH(exact_squared_distances)(query, rows, stride, length, count, out);
}

}  // namespace likewise::kernels
#endif
