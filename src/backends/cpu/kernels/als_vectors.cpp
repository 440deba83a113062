// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/als_vectors.h"

#include <algorithm>

#include "algorithms/als/weights.h"
#include "backends/cpu/kernels/als_passes.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/als_vectors.cpp"
// foreach_target.h comes first:
// clang-format off
#include <hwy/foreach_target.h>
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

// ---- weights ----

/// w, v and constant of one vector of values, by the formulas of algorithms/cell_weights.h; `bias`
/// is what explicit targets lose.
struct CellVectors {
  Vec w;
  Vec v;
  Vec constant;
};

HWY_INLINE CellVectors cells(const Weighing& how, Vec value, Vec bias) {
  const Tag d;
  const Vec zero = hn::Zero(d);
  const Vec one = hn::Set(d, 1.0F);
  if (how.form == CellForm::kExplicit) {
    const Vec target = hn::Sub(hn::Sub(value, hn::Set(d, how.mean)), bias);
    return {one, target, hn::Mul(target, target)};
  }
  const auto liked = hn::Gt(value, zero);
  if (how.form == CellForm::kUnobserved) {
    const Vec v = hn::IfThenElseZero(liked, one);
    return {hn::IfThenElseZero(hn::Ne(value, zero), one), v, v};
  }
  const Vec alpha = hn::Set(d, how.alpha);
  const Vec size = hn::Abs(value);
  if (how.form == CellForm::kGiven) {
    const Vec c = hn::Mul(alpha, size);
    const Vec v = hn::IfThenElseZero(liked, c);
    return {hn::Sub(c, one), v, v};
  }
  const Vec w = how.form == CellForm::kLinear
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

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
HWY_EXPORT(Weigh);
HWY_EXPORT(ScaleSquare);
HWY_EXPORT(Axpy);
HWY_EXPORT(WeightedSquare);
HWY_EXPORT(Dot);
HWY_EXPORT(NextDirection);

Weighing Weighing::of(const AlsParams& params) {
  Weighing how;
  how.alpha = static_cast<float>(params.alpha);
  how.inverse_epsilon = static_cast<float>(1.0 / params.epsilon);
  how.form = cell_form(params);
  return how;
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

}  // namespace likewise::kernels
#endif
