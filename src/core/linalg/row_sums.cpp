// SPDX-License-Identifier: Apache-2.0
#include "core/linalg/row_sums.h"

#include <algorithm>

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

/// Columns [first, first + kCount vectors): their sums stay in registers while all rows pass.
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

/// out += weights_e times row rows_e, of kRows rows in their order.
template <int kRows>
HWY_INLINE void add_doubles(const Index* rows, const double* HWY_RESTRICT weights,
                            const MatrixView& x, double* HWY_RESTRICT out) {
  const hn::CappedTag<double, 8> d;
  const hn::Rebind<float, decltype(d)> floats;
  const auto step = static_cast<Offset>(hn::Lanes(d));
  const float* row[kRows];
  for (int r = 0; r < kRows; ++r) row[r] = x.row(rows[r]);
  Offset j = 0;
  for (; j + step <= x.cols; j += step) {
    auto sum = hn::LoadU(d, out + j);
    for (int r = 0; r < kRows; ++r) {
      const auto wide = hn::PromoteTo(d, hn::LoadU(floats, row[r] + j));
      sum = hn::Add(sum, hn::Mul(hn::Set(d, weights[r]), wide));
    }
    hn::StoreU(sum, d, out + j);
  }
  for (; j < x.cols; ++j) {
    for (int r = 0; r < kRows; ++r) out[j] += weights[r] * double{row[r][j]};
  }
}

/// The sums are in the first cache. Whole rows pass, as a memory likes it, four at a time.
void SumDoubles(std::span<const Index> rows, const double* weights, const MatrixView& x,
                double* HWY_RESTRICT out) {
  constexpr std::size_t kRows = 4;
  std::fill_n(out, x.cols, 0.0);
  std::size_t e = 0;
  for (; e + kRows <= rows.size(); e += kRows) {
    add_doubles<kRows>(rows.data() + e, weights + e, x, out);
  }
  for (; e < rows.size(); ++e) add_doubles<1>(rows.data() + e, weights + e, x, out);
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
