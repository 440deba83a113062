// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/als_passes.h"

#include <algorithm>

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/als_passes.cpp"
// foreach_target.h comes first:
// clang-format off
#include <hwy/foreach_target.h>
#include <hwy/cache_control.h>
#include <hwy/highway.h>
#include <hwy/contrib/math/math-inl.h>
// clang-format on

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most 16 lanes: every stride is a multiple of 16.
using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

HWY_INLINE Index lanes() { return static_cast<Index>(hn::Lanes(Tag())); }
HWY_INLINE float sum_of(Vec x) { return hn::GetLane(hn::SumOfLanes(Tag(), x)); }

// ---- helpers: one tile of kTileRows rows ----

struct Tile {
  const float* y[kTileRows];
};

HWY_INLINE Tile tile_at(const Segment& s, Offset first) {
  Tile tile;
  for (Offset r = 0; r < kTileRows; ++r) {
    tile.y[r] = s.table + static_cast<Offset>(s.columns[first + r]) * s.stride;
  }
  return tile;
}

/// Asks for a tile that comes soon: its rows lie anywhere in the table.
HWY_INLINE void prefetch_tile(const Segment& s, Offset first) {
  if (first >= s.padded) return;
  for (Offset r = 0; r < kTileRows; ++r) {
    const float* y = s.table + static_cast<Offset>(s.columns[first + r]) * s.stride;
    for (Index j = 0; j < s.stride; j += 16) hwy::Prefetch(y + j);
  }
}
constexpr Offset kAhead = 2 * kTileRows;

#if HWY_TARGET != HWY_SCALAR
/// Adds a vector's blocks of four lanes to one.
HWY_INLINE hn::Vec<hn::CappedTag<float, 4>> fold_blocks(hn::Vec<hn::CappedTag<float, 4>> x) {
  return x;
}
#if HWY_TARGET <= HWY_AVX2
HWY_INLINE auto fold_blocks(hn::Vec<hn::CappedTag<float, 8>> x) {
  const hn::CappedTag<float, 4> half;
  return hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x));
}
#endif
#if HWY_TARGET <= HWY_AVX3
HWY_INLINE auto fold_blocks(hn::Vec<hn::CappedTag<float, 16>> x) {
  const hn::CappedTag<float, 8> half;
  return fold_blocks(hn::Add(hn::LowerHalf(half, x), hn::UpperHalf(half, x)));
}
#endif
#endif

/// The sums of four vectors' lanes, as four floats at `out`.
HWY_INLINE void store_sums(Vec a, Vec b, Vec c, Vec d, float* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  out[0] = hn::GetLane(a);
  out[1] = hn::GetLane(b);
  out[2] = hn::GetLane(c);
  out[3] = hn::GetLane(d);
#else
  // Within each block of four lanes: transpose and add, so that lane r holds a part of sum r.
  const Tag tag;
  const hn::Repartition<double, Tag> wide;
  const Vec ab = hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
  const Vec cd = hn::Add(hn::InterleaveLower(tag, c, d), hn::InterleaveUpper(tag, c, d));
  const auto low = hn::InterleaveLower(wide, hn::BitCast(wide, ab), hn::BitCast(wide, cd));
  const auto high = hn::InterleaveUpper(wide, hn::BitCast(wide, ab), hn::BitCast(wide, cd));
  const Vec sum = hn::Add(hn::BitCast(tag, low), hn::BitCast(tag, high));
  hn::Store(fold_blocks(sum), hn::CappedTag<float, 4>(), out);
#endif
}

/// q_r = y_r . p
HWY_INLINE void tile_dots(const Tile& t, const float* HWY_RESTRICT p, Index stride,
                          float* HWY_RESTRICT q) {
  const Tag d;
  Vec s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
  for (Index j = 0; j < stride; j += lanes()) {
    const Vec x = hn::Load(d, p + j);
    s0 = hn::MulAdd(hn::Load(d, t.y[0] + j), x, s0);
    s1 = hn::MulAdd(hn::Load(d, t.y[1] + j), x, s1);
    s2 = hn::MulAdd(hn::Load(d, t.y[2] + j), x, s2);
    s3 = hn::MulAdd(hn::Load(d, t.y[3] + j), x, s3);
    s4 = hn::MulAdd(hn::Load(d, t.y[4] + j), x, s4);
    s5 = hn::MulAdd(hn::Load(d, t.y[5] + j), x, s5);
    s6 = hn::MulAdd(hn::Load(d, t.y[6] + j), x, s6);
    s7 = hn::MulAdd(hn::Load(d, t.y[7] + j), x, s7);
  }
  store_sums(s0, s1, s2, s3, q);
  store_sums(s4, s5, s6, s7, q + 4);
}

/// sum += sum_r c_r y_r
HWY_INLINE void tile_add(const Tile& t, const float* HWY_RESTRICT c, Index stride,
                         float* HWY_RESTRICT sum) {
  const Tag d;
  const Vec c0 = hn::Set(d, c[0]), c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]);
  const Vec c3 = hn::Set(d, c[3]), c4 = hn::Set(d, c[4]), c5 = hn::Set(d, c[5]);
  const Vec c6 = hn::Set(d, c[6]), c7 = hn::Set(d, c[7]);
  for (Index j = 0; j < stride; j += lanes()) {
    Vec even = hn::MulAdd(c0, hn::Load(d, t.y[0] + j), hn::Load(d, sum + j));
    Vec odd = hn::Mul(c1, hn::Load(d, t.y[1] + j));
    even = hn::MulAdd(c2, hn::Load(d, t.y[2] + j), even);
    odd = hn::MulAdd(c3, hn::Load(d, t.y[3] + j), odd);
    even = hn::MulAdd(c4, hn::Load(d, t.y[4] + j), even);
    odd = hn::MulAdd(c5, hn::Load(d, t.y[5] + j), odd);
    even = hn::MulAdd(c6, hn::Load(d, t.y[6] + j), even);
    odd = hn::MulAdd(c7, hn::Load(d, t.y[7] + j), odd);
    hn::Store(hn::Add(even, odd), d, sum + j);
  }
}

// ---- passes over a segment ----

StartSums AddResidual(const Segment& s, const float* z, float* r) {
  StartSums sums;
  HWY_ALIGN float q[kTileRows];
  for (Offset i = 0; i < s.padded; i += kTileRows) {
    prefetch_tile(s, i + kAhead);
    const Tile tile = tile_at(s, i);
    tile_dots(tile, z, s.stride, q);
    float wqq = 0.0F;
    float vq = 0.0F;
    for (Offset k = 0; k < kTileRows; ++k) {
      const float wq = s.w[i + k] * q[k];
      wqq += wq * q[k];
      vq += s.v[i + k] * q[k];
      q[k] = s.v[i + k] - wq;
    }
    sums.wqq += wqq;
    sums.vq += vq;
    tile_add(tile, q, s.stride, r);
  }
  return sums;
}

double AddProduct(const Segment& s, const float* p, float* product) {
  double pap = 0.0;
  HWY_ALIGN float q[kTileRows];
  for (Offset i = 0; i < s.padded; i += kTileRows) {
    prefetch_tile(s, i + kAhead);
    const Tile tile = tile_at(s, i);
    tile_dots(tile, p, s.stride, q);
    float sum = 0.0F;
    for (Offset k = 0; k < kTileRows; ++k) {
      const float wq = s.w[i + k] * q[k];
      sum += wq * q[k];
      q[k] = wq;
    }
    pap += sum;
    tile_add(tile, q, s.stride, product);
  }
  return pap;
}

double Curvature(const Segment& s, const float* p) {
  double pap = 0.0;
  HWY_ALIGN float q[kTileRows];
  for (Offset i = 0; i < s.padded; i += kTileRows) {
    prefetch_tile(s, i + kAhead);
    tile_dots(tile_at(s, i), p, s.stride, q);
    float sum = 0.0F;
    for (Offset k = 0; k < kTileRows; ++k) sum += s.w[i + k] * q[k] * q[k];
    pap += sum;
  }
  return pap;
}

void AddRows(const Segment& s, const float* c, float* sum) {
  for (Offset i = 0; i < s.padded; i += kTileRows) {
    prefetch_tile(s, i + kAhead);
    tile_add(tile_at(s, i), c + i, s.stride, sum);
  }
}

// ---- weights ----

/// w, v and constant of one vector of values; `bias` is what explicit targets lose.
struct CellVectors {
  Vec w;
  Vec v;
  Vec constant;
};

HWY_INLINE CellVectors cells(const Weighing& how, Vec value, Vec bias) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  const Vec one = hn::Set(d, 1.0F);
  if (how.form == Weighing::Form::kExplicit) {
    const Vec target = hn::Sub(hn::Sub(value, hn::Set(d, how.mean)), bias);
    return {one, target, hn::Mul(target, target)};
  }
  const auto liked = hn::Gt(value, zero);
  if (how.form == Weighing::Form::kUnobserved) {
    const Vec v = hn::IfThenElseZero(liked, one);
    return {hn::IfThenElseZero(hn::Ne(value, zero), one), v, v};
  }
  const Vec alpha = hn::Set(d, how.alpha);
  const Vec size = hn::Abs(value);
  const Vec w = how.form == Weighing::Form::kLinear
                    ? hn::Mul(alpha, size)
                    : hn::Mul(alpha, hn::Log1p(d, hn::Mul(size, hn::Set(d, how.inverse_epsilon))));
  const Vec v = hn::IfThenElseZero(liked, hn::Add(one, w));
  return {w, v, v};
}

HWY_INLINE Vec gather(const float* from, const Index* at) {
  const Tag d;
  const hn::RebindToSigned<Tag> di;
  return hn::GatherIndex(d, from, hn::LoadU(di, at));
}

double Weigh(const Weighing& how, const Index* columns, const float* values, Offset count,
             Index* HWY_RESTRICT padded_columns, float* HWY_RESTRICT w, float* HWY_RESTRICT v) {
  const Tag d;
  const Offset n = lanes();
  double constant = 0.0;
  Offset i = 0;
  for (; i + n <= count; i += n) {
    const Vec bias = how.bias != nullptr ? gather(how.bias, columns + i) : hn::Zero(d);
    const CellVectors cell = cells(how, hn::LoadU(d, values + i), bias);
    hn::StoreU(cell.w, d, w + i);
    hn::StoreU(cell.v, d, v + i);
    constant += sum_of(cell.constant);
  }
  for (; i < count; ++i) {
    const Vec bias = hn::Set(d, how.bias != nullptr ? how.bias[columns[i]] : 0.0F);
    const CellVectors cell = cells(how, hn::Set(d, values[i]), bias);
    w[i] = hn::GetLane(cell.w);
    v[i] = hn::GetLane(cell.v);
    constant += hn::GetLane(cell.constant);
  }
  std::copy(columns, columns + count, padded_columns);
  const Offset end = padded_tiles(count);
  std::fill(padded_columns + count, padded_columns + end, 0);
  std::fill(w + count, w + end, 0.0F);
  std::fill(v + count, v + end, 0.0F);
  return constant;
}

// ---- short vectors ----

double ScaleSquare(const float* a, const float* b, float* out, Index n) {
  const Tag d;
  Vec sum = hn::Zero(d);
  for (Index j = 0; j < n; j += lanes()) {
    const Vec x = hn::Load(d, b + j);
    const Vec y = hn::Mul(hn::Load(d, a + j), x);
    sum = hn::MulAdd(x, y, sum);
    hn::Store(y, d, out + j);
  }
  return sum_of(sum);
}

void Axpy(float a, const float* x, float* y, Index n) {
  const Tag d;
  const Vec scale = hn::Set(d, a);
  for (Index j = 0; j < n; j += lanes()) {
    hn::Store(hn::MulAdd(scale, hn::Load(d, x + j), hn::Load(d, y + j)), d, y + j);
  }
}

double WeightedSquare(const float* a, const float* x, Index n) {
  const Tag d;
  Vec sum = hn::Zero(d);
  for (Index j = 0; j < n; j += lanes()) {
    const Vec y = hn::Load(d, x + j);
    sum = hn::MulAdd(hn::Mul(hn::Load(d, a + j), y), y, sum);
  }
  return sum_of(sum);
}

double Dot(const float* x, const float* y, Index n) {
  const Tag d;
  Vec sum = hn::Zero(d);
  for (Index j = 0; j < n; j += lanes()) {
    sum = hn::MulAdd(hn::Load(d, x + j), hn::Load(d, y + j), sum);
  }
  return sum_of(sum);
}

void NextDirection(const float* a, const float* r, float beta, float* p, Index n) {
  const Tag d;
  const Vec b = hn::Set(d, beta);
  for (Index j = 0; j < n; j += lanes()) {
    const Vec s = hn::Mul(hn::Load(d, a + j), hn::Load(d, r + j));
    hn::Store(hn::MulAdd(b, hn::Load(d, p + j), s), d, p + j);
  }
}

const char* PassesTarget() { return hwy::TargetName(HWY_TARGET); }

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
HWY_EXPORT(AddResidual);
HWY_EXPORT(AddProduct);
HWY_EXPORT(Curvature);
HWY_EXPORT(AddRows);
HWY_EXPORT(Weigh);
HWY_EXPORT(ScaleSquare);
HWY_EXPORT(Axpy);
HWY_EXPORT(WeightedSquare);
HWY_EXPORT(Dot);
HWY_EXPORT(NextDirection);
HWY_EXPORT(PassesTarget);

Weighing Weighing::of(const AlsParams& params) {
  Weighing how;
  how.alpha = static_cast<float>(params.alpha);
  how.inverse_epsilon = static_cast<float>(1.0 / params.epsilon);
  if (params.feedback == Feedback::kExplicit) {
    how.form = Form::kExplicit;
  } else if (params.unobserved_weight) {
    how.form = Form::kUnobserved;
  } else if (params.confidence == Confidence::kLog) {
    how.form = Form::kLog;
  }
  return how;
}

StartSums add_residual(const Segment& s, const float* z, float* r) {
  return HWY_DYNAMIC_DISPATCH(AddResidual)(s, z, r);
}
double add_product(const Segment& s, const float* p, float* product) {
  return HWY_DYNAMIC_DISPATCH(AddProduct)(s, p, product);
}
double curvature(const Segment& s, const float* p) { return HWY_DYNAMIC_DISPATCH(Curvature)(s, p); }
void add_rows(const Segment& s, const float* c, float* sum) {
  HWY_DYNAMIC_DISPATCH(AddRows)(s, c, sum);
}
double weigh(const Weighing& how, const Index* columns, const float* values, Offset count,
             Index* padded_columns, float* w, float* v) {
  return HWY_DYNAMIC_DISPATCH(Weigh)(how, columns, values, count, padded_columns, w, v);
}
double scale_square(const float* a, const float* b, float* out, Index n) {
  return HWY_DYNAMIC_DISPATCH(ScaleSquare)(a, b, out, n);
}
void axpy(float a, const float* x, float* y, Index n) { HWY_DYNAMIC_DISPATCH(Axpy)(a, x, y, n); }
double weighted_square(const float* a, const float* x, Index n) {
  return HWY_DYNAMIC_DISPATCH(WeightedSquare)(a, x, n);
}
double dot(const float* x, const float* y, Index n) { return HWY_DYNAMIC_DISPATCH(Dot)(x, y, n); }
void next_direction(const float* a, const float* r, float beta, float* p, Index n) {
  HWY_DYNAMIC_DISPATCH(NextDirection)(a, r, beta, p, n);
}
const char* passes_target() { return HWY_DYNAMIC_DISPATCH(PassesTarget)(); }

}  // namespace likewise::kernels
#endif
