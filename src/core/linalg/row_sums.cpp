// SPDX-License-Identifier: Apache-2.0
/// Sums of a range of columns stay in registers while all rows pass.
#include "core/linalg/row_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "core/linalg/row_sums.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

/// Vectors of sums.
constexpr int kSums = 8;

/// Columns [first, first + kCount vectors).
template <int kCount>
HWY_INLINE void sum_floats(std::span<const Index> rows, const float* HWY_RESTRICT weights,
                           const MatrixView& x, Offset first, float* HWY_RESTRICT out) {
  const hn::CappedTag<float, 16> d;
  const auto step = static_cast<Offset>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kCount];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const auto weight = hn::Set(d, weights[e]);
    const float* const row = x.row(rows[e]) + first;
    for (int v = 0; v < kCount; ++v) {
      sums[v] = hn::MulAdd(weight, hn::Load(d, row + v * step), sums[v]);
    }
  }
  for (int v = 0; v < kCount; ++v) hn::Store(sums[v], d, out + first + v * step);
}

void SumFloats(std::span<const Index> rows, const float* weights, const MatrixView& x, float* out) {
  const auto step = static_cast<Offset>(hn::Lanes(hn::CappedTag<float, 16>()));
  Offset first = 0;
  for (; first + kSums * step <= x.stride; first += kSums * step) {
    sum_floats<kSums>(rows, weights, x, first, out);
  }
  for (; first < x.stride; first += step) sum_floats<1>(rows, weights, x, first, out);
}

/// Columns [first, first + kCount vectors), of which `count` are stored.
template <int kCount>
HWY_INLINE void sum_doubles(std::span<const Index> rows, const double* HWY_RESTRICT weights,
                            const MatrixView& x, Offset first, Offset count,
                            double* HWY_RESTRICT out) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> floats;
  const auto step = static_cast<Offset>(hn::Lanes(d));
  hn::Vec<decltype(d)> sums[kCount];
  for (auto& sum : sums) sum = hn::Zero(d);
  for (std::size_t e = 0; e < rows.size(); ++e) {
    const auto weight = hn::Set(d, weights[e]);
    const float* const row = x.row(rows[e]) + first;
    for (int v = 0; v < kCount; ++v) {
      const auto wide = hn::PromoteTo(d, hn::LoadU(floats, row + v * step));
      sums[v] = hn::Add(sums[v], hn::Mul(weight, wide));
    }
  }
  for (int v = 0; v < kCount; ++v) {
    HWY_ALIGN double lanes[8];
    hn::Store(sums[v], d, lanes);
    for (Offset j = 0; j < step && v * step + j < count; ++j) out[first + v * step + j] = lanes[j];
  }
}

void SumDoubles(std::span<const Index> rows, const double* weights, const MatrixView& x,
                double* out) {
  const auto step = static_cast<Offset>(hn::Lanes(hn::CappedTag<double, 8>()));
  Offset first = 0;
  for (; first + kSums * step <= x.cols; first += kSums * step) {
    sum_doubles<kSums>(rows, weights, x, first, kSums * step, out);
  }
  for (; first < x.cols; first += step) {
    sum_doubles<1>(rows, weights, x, first, x.cols - first, out);
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
HWY_EXPORT(SumFloats);
HWY_EXPORT(SumDoubles);

void sum_rows(std::span<const Index> rows, const float* weights, const MatrixView& x, float* out) {
  HWY_DYNAMIC_DISPATCH(SumFloats)(rows, weights, x, out);
}
void sum_rows(std::span<const Index> rows, const double* weights, const MatrixView& x,
              double* out) {
  HWY_DYNAMIC_DISPATCH(SumDoubles)(rows, weights, x, out);
}

}  // namespace likewise::kernels
#endif
