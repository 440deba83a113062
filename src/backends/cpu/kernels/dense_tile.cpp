// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/dense_tile.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/dense_tile.cpp"
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

constexpr Index kVectors = 3;
/// Sums that are kept in registers, of 32 or of 16.
#if HWY_ARCH_X86 && HWY_TARGET > HWY_AVX3
constexpr Index kRows = 4;
#else
constexpr Index kRows = 8;
#endif

template <class T>
HWY_INLINE void part_of_tile(const T* HWY_RESTRICT a, const T* HWY_RESTRICT b, Index k,
                             T* HWY_RESTRICT c, Offset c_stride, bool add) {
  const HWY_CAPPED(T, 64 / sizeof(T)) d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kRows][kVectors];
  HWY_UNROLL(8)
  for (Index i = 0; i < kRows; ++i) {
    HWY_UNROLL(3)
    for (Index v = 0; v < kVectors; ++v) {
      sum[i][v] = add ? hn::Load(d, c + i * c_stride + v * lanes) : hn::Zero(d);
    }
  }
  for (Index step = 0; step < k; ++step) {
    const auto b0 = hn::Load(d, b);
    const auto b1 = hn::Load(d, b + lanes);
    const auto b2 = hn::Load(d, b + 2 * lanes);
    HWY_UNROLL(8)
    for (Index i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, a[i]);
      sum[i][0] = hn::MulAdd(factor, b0, sum[i][0]);
      sum[i][1] = hn::MulAdd(factor, b1, sum[i][1]);
      sum[i][2] = hn::MulAdd(factor, b2, sum[i][2]);
    }
    a += kTileRows;
    b += kTileColumns<T>;
  }
  HWY_UNROLL(8)
  for (Index i = 0; i < kRows; ++i) {
    HWY_UNROLL(3)
    for (Index v = 0; v < kVectors; ++v) {
      hn::Store(sum[i][v], d, c + i * c_stride + v * lanes);
    }
  }
}

template <class T>
HWY_INLINE void tile(const T* a, const T* b, Index k, T* c, Offset c_stride, bool add) {
  const HWY_CAPPED(T, 64 / sizeof(T)) d;
  const auto width = kVectors * static_cast<Index>(hn::Lanes(d));
  for (Index j = 0; j < kTileColumns<T>; j += width) {
    for (Index i = 0; i < kTileRows; i += kRows) {
      part_of_tile(a + i, b + j, k, c + i * c_stride + j, c_stride, add);
    }
  }
}

/// As above with the rows where they lie, and sums that begin at 0 wherever c stands.
HWY_INLINE void part_of_row_tile(const float* const* HWY_RESTRICT rows, const float* HWY_RESTRICT b,
                                 Index depth, float* HWY_RESTRICT c, Offset c_stride, bool add) {
  const HWY_CAPPED(float, 16) d;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  hn::Vec<decltype(d)> sum[kRows][kVectors];
  const float* row[kRows];
  HWY_UNROLL(8)
  for (Index i = 0; i < kRows; ++i) {
    row[i] = rows[i];
    HWY_UNROLL(3)
    for (Index v = 0; v < kVectors; ++v) sum[i][v] = hn::Zero(d);
  }
  for (Offset k = 0; k < depth; ++k) {
    const auto b0 = hn::Load(d, b);
    const auto b1 = hn::Load(d, b + lanes);
    const auto b2 = hn::Load(d, b + 2 * lanes);
    HWY_UNROLL(8)
    for (Index i = 0; i < kRows; ++i) {
      const auto factor = hn::Set(d, row[i][k]);
      sum[i][0] = hn::MulAdd(factor, b0, sum[i][0]);
      sum[i][1] = hn::MulAdd(factor, b1, sum[i][1]);
      sum[i][2] = hn::MulAdd(factor, b2, sum[i][2]);
    }
    b += kTileColumns<float>;
  }
  HWY_UNROLL(8)
  for (Index i = 0; i < kRows; ++i) {
    HWY_UNROLL(3)
    for (Index v = 0; v < kVectors; ++v) {
      float* const to = c + i * c_stride + v * lanes;
      hn::Store(add ? hn::Add(hn::Load(d, to), sum[i][v]) : sum[i][v], d, to);
    }
  }
}

void row_tile(const float* const* rows, const float* b, Index depth, float* c, Offset c_stride,
              bool add) {
  const HWY_CAPPED(float, 16) d;
  const auto width = kVectors * static_cast<Index>(hn::Lanes(d));
  for (Index j = 0; j < kTileColumns<float>; j += width) {
    for (Index i = 0; i < kTileRows; i += kRows) {
      part_of_row_tile(rows + i, b + j, depth, c + i * c_stride + j, c_stride, add);
    }
  }
}

void pack_four(const float* const* HWY_RESTRICT rows, const float* HWY_RESTRICT factors,
               Index depth, float* HWY_RESTRICT packed) {
  Offset k = 0;
#if HWY_TARGET != HWY_SCALAR
  const hn::FixedTag<float, kPackedRows> d;
  for (; k + kPackedRows <= depth; k += kPackedRows) {
    const auto load = [&](Index i) HWY_ATTR {
      return hn::Mul(hn::LoadU(d, rows[i] + k), hn::Set(d, factors[i]));
    };
    const auto low01 = hn::InterleaveLower(d, load(0), load(1));
    const auto low23 = hn::InterleaveLower(d, load(2), load(3));
    const auto high01 = hn::InterleaveUpper(d, load(0), load(1));
    const auto high23 = hn::InterleaveUpper(d, load(2), load(3));
    float* const to = packed + k * kTileColumns<float>;
    hn::Store(hn::ConcatLowerLower(d, low23, low01), d, to);
    hn::Store(hn::ConcatUpperUpper(d, low23, low01), d, to + kTileColumns<float>);
    hn::Store(hn::ConcatLowerLower(d, high23, high01), d, to + 2 * kTileColumns<float>);
    hn::Store(hn::ConcatUpperUpper(d, high23, high01), d, to + 3 * kTileColumns<float>);
  }
#endif
  for (; k < depth; ++k) {
    float* const to = packed + k * kTileColumns<float>;
    for (Index i = 0; i < kPackedRows; ++i) to[i] = rows[i][k] * factors[i];
  }
}

template <class T>
HWY_INLINE void widen_all(const float* HWY_RESTRICT from, Offset count, bool squared,
                          T* HWY_RESTRICT to) {
  const HWY_CAPPED(T, 64 / sizeof(T)) d;
  const hn::Rebind<float, decltype(d)> f;
  const auto lanes = static_cast<Offset>(hn::Lanes(d));
  for (Offset i = 0; i < count; i += lanes) {
    hn::Vec<decltype(d)> value;
    if constexpr (sizeof(T) == sizeof(float)) {
      value = hn::Load(f, from + i);
    } else {
      value = hn::PromoteTo(d, hn::Load(f, from + i));
    }
    hn::Store(squared ? hn::Mul(value, value) : value, d, to + i);
  }
}

void tile_f32(const float* a, const float* b, Index k, float* c, Offset c_stride, bool add) {
  tile(a, b, k, c, c_stride, add);
}
void tile_f64(const double* a, const double* b, Index k, double* c, Offset c_stride, bool add) {
  tile(a, b, k, c, c_stride, add);
}

void widen_f32(const float* from, Offset count, bool squared, float* to) {
  widen_all(from, count, squared, to);
}
void widen_f64(const float* from, Offset count, bool squared, double* to) {
  widen_all(from, count, squared, to);
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(tile_f32);
HWY_EXPORT(tile_f64);
HWY_EXPORT(row_tile);
HWY_EXPORT(pack_four);
HWY_EXPORT(widen_f32);
HWY_EXPORT(widen_f64);

template <>
void multiply_tile(const float* a, const float* b, Index k, float* c, Offset c_stride, bool add) {
  HWY_DYNAMIC_DISPATCH(tile_f32)(a, b, k, c, c_stride, add);
}
template <>
void multiply_tile(const double* a, const double* b, Index k, double* c, Offset c_stride,
                   bool add) {
  HWY_DYNAMIC_DISPATCH(tile_f64)(a, b, k, c, c_stride, add);
}

void multiply_rows(const float* const* rows, const float* b, Index depth, float* c, Offset c_stride,
                   bool add) {
  HWY_DYNAMIC_DISPATCH(row_tile)(rows, b, depth, c, c_stride, add);
}

void pack_rows(const float* const* rows, const float* factors, Index depth, float* packed) {
  HWY_DYNAMIC_DISPATCH(pack_four)(rows, factors, depth, packed);
}

template <>
void widen(const float* from, Offset count, bool squared, float* to) {
  HWY_DYNAMIC_DISPATCH(widen_f32)(from, count, squared, to);
}
template <>
void widen(const float* from, Offset count, bool squared, double* to) {
  HWY_DYNAMIC_DISPATCH(widen_f64)(from, count, squared, to);
}

}  // namespace likewise::kernels
#endif
