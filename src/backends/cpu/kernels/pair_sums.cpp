// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/pair_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/pair_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// Calls visit(position) for the entries of a column whose row is below the limit. Rows rise, so
/// the last of four decides for all of them, and the four are different rows.
template <class Visit, class VisitFour>
HWY_INLINE void for_rows(const PairPass& pass, Index column, const VisitFour& visit_four,
                         const Visit& visit) {
  Offset at = pass.column_offsets[column];
  const Offset end = pass.column_offsets[column + 1];
  for (; at + 4 <= end && pass.rows[at + 3] < pass.limit; at += 4) visit_four(at);
  for (; at < end && pass.rows[at] < pass.limit; ++at) visit(at);
}

template <class T>
HWY_INLINE void products(const PairPass& pass, T* HWY_RESTRICT sums) {
  for (Offset e = 0; e < pass.count; ++e) {
    const T a = static_cast<T>(pass.values[e]);
    const auto visit = [&](Offset at) HWY_ATTR {
      sums[pass.rows[at]] += a * static_cast<T>(pass.row_values[at]);
    };
    const auto visit_four = [&](Offset at) HWY_ATTR {
      const Index* HWY_RESTRICT r = pass.rows + at;
      const float* HWY_RESTRICT b = pass.row_values + at;
      const T s0 = sums[r[0]] + a * static_cast<T>(b[0]);
      const T s1 = sums[r[1]] + a * static_cast<T>(b[1]);
      const T s2 = sums[r[2]] + a * static_cast<T>(b[2]);
      const T s3 = sums[r[3]] + a * static_cast<T>(b[3]);
      sums[r[0]] = s0;
      sums[r[1]] = s1;
      sums[r[2]] = s2;
      sums[r[3]] = s3;
    };
    for_rows(pass, pass.columns[e], visit_four, visit);
  }
}

/// What one common entry adds, lane by lane: base + b (linear + b square), where base and linear
/// depend on a. At most one of the three is not 0 in a lane, so nothing is rounded before the sum.
template <class T, int kLanes>
struct Terms {
  HWY_ALIGN T base[kLanes] = {};
  HWY_ALIGN T linear[kLanes] = {};
  HWY_ALIGN T square[kLanes] = {};
};

template <class T>
HWY_INLINE Terms<T, 4> square_terms(T a) {
  return {{T{1}, a * a, T{0}, T{0}}, {T{0}, T{0}, T{0}, a}, {T{0}, T{0}, T{1}, T{0}}};
}

template <class T>
HWY_INLINE Terms<T, 8> all_terms(T a) {
  return {{T{1}, a, T{0}, a * a, T{0}, T{0}, T{0}, T{0}},
          {T{0}, T{0}, T{1}, T{0}, T{0}, a, T{0}, T{0}},
          {T{0}, T{0}, T{0}, T{0}, T{1}, T{0}, T{0}, T{0}}};
}

/// kLanes sums a row, in as many vectors as they take on this target.
template <class T, int kLanes, class MakeTerms>
HWY_INLINE void lane_sums(const PairPass& pass, const MakeTerms& make_terms, T* HWY_RESTRICT sums) {
  using D = HWY_CAPPED(T, kLanes);
  const D d;
  constexpr int kWidth = static_cast<int>(hn::MaxLanes(D()));
  constexpr int kVectors = kLanes / kWidth;
  for (Offset e = 0; e < pass.count; ++e) {
    const Terms<T, kLanes> terms = make_terms(static_cast<T>(pass.values[e]));
    hn::Vec<D> base[kVectors];
    hn::Vec<D> linear[kVectors];
    hn::Vec<D> square[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      base[v] = hn::Load(d, terms.base + v * kWidth);
      linear[v] = hn::Load(d, terms.linear + v * kWidth);
      square[v] = hn::Load(d, terms.square + v * kWidth);
    }
    const auto visit = [&](Offset at) HWY_ATTR {
      const auto b = hn::Set(d, static_cast<T>(pass.row_values[at]));
      T* HWY_RESTRICT sum = sums + Offset{pass.rows[at]} * kLanes;
      HWY_UNROLL(8)
      for (int v = 0; v < kVectors; ++v) {
        const auto term = hn::MulAdd(b, hn::MulAdd(b, square[v], linear[v]), base[v]);
        hn::Store(hn::Add(hn::Load(d, sum + v * kWidth), term), d, sum + v * kWidth);
      }
    };
    const auto visit_four = [&](Offset at) HWY_ATTR {
      visit(at);
      visit(at + 1);
      visit(at + 2);
      visit(at + 3);
    };
    for_rows(pass, pass.columns[e], visit_four, visit);
  }
}

void products_f32(const PairPass& pass, float* sums) { products(pass, sums); }
void products_f64(const PairPass& pass, double* sums) { products(pass, sums); }
void squares_f32(const PairPass& pass, float* sums) {
  lane_sums<float, 4>(
      pass, [](float a) HWY_ATTR { return square_terms(a); }, sums);
}
void squares_f64(const PairPass& pass, double* sums) {
  lane_sums<double, 4>(
      pass, [](double a) HWY_ATTR { return square_terms(a); }, sums);
}
void all_f32(const PairPass& pass, float* sums) {
  lane_sums<float, 8>(
      pass, [](float a) HWY_ATTR { return all_terms(a); }, sums);
}
void all_f64(const PairPass& pass, double* sums) {
  lane_sums<double, 8>(
      pass, [](double a) HWY_ATTR { return all_terms(a); }, sums);
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(products_f32);
HWY_EXPORT(products_f64);
HWY_EXPORT(squares_f32);
HWY_EXPORT(squares_f64);
HWY_EXPORT(all_f32);
HWY_EXPORT(all_f64);

void add_products(const PairPass& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(products_f32)(pass, sums);
}
void add_products(const PairPass& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(products_f64)(pass, sums);
}
void add_squares(const PairPass& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(squares_f32)(pass, sums);
}
void add_squares(const PairPass& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(squares_f64)(pass, sums);
}
void add_all(const PairPass& pass, float* sums) { HWY_DYNAMIC_DISPATCH(all_f32)(pass, sums); }
void add_all(const PairPass& pass, double* sums) { HWY_DYNAMIC_DISPATCH(all_f64)(pass, sums); }

}  // namespace likewise::kernels
#endif
