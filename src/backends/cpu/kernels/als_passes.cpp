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
// clang-format on

#include "core/linalg/float16-inl.h"

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

// Vectors of at most 16 lanes: every stride is a multiple of 16.
using Tag = hn::CappedTag<float, 16>;
using Vec = hn::Vec<Tag>;

HWY_INLINE Index lanes() { return static_cast<Index>(hn::Lanes(Tag())); }

// ---- helpers: one tile of kPassRows rows ----

/// T: float, or std::uint16_t for the bits of float16.
template <class T>
HWY_INLINE const T* stored(const StoredRows& rows) {
  if constexpr (sizeof(T) == sizeof(float)) {
    return rows.floats;
  } else {
    return rows.halves;
  }
}

/// Numbers of a row as float32.
HWY_INLINE Vec load(const float* y) { return hn::Load(Tag(), y); }
HWY_INLINE Vec load(const std::uint16_t* y) { return load_float16(Tag(), y); }

template <class T>
struct Tile {
  const T* y[kPassRows];
};

template <class T>
HWY_INLINE Tile<T> tile_at(const Segment& s, Offset first) {
  Tile<T> tile;
  for (Offset r = 0; r < kPassRows; ++r) {
    tile.y[r] = stored<T>(s.rows) + static_cast<Offset>(s.columns[first + r]) * s.rows.stride;
  }
  return tile;
}

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

/// Two sums, as two floats at `out`.
HWY_INLINE void store_sums(Vec a, Vec b, float* HWY_RESTRICT out) {
#if HWY_TARGET == HWY_SCALAR
  out[0] = hn::GetLane(a);
  out[1] = hn::GetLane(b);
#else
  const Tag tag;
  const Vec ab = hn::Add(hn::InterleaveLower(tag, a, b), hn::InterleaveUpper(tag, a, b));
  const hn::CappedTag<float, 2> two;
  hn::Store(hn::LowerHalf(two, fold_blocks(hn::Add(ab, hn::Shuffle1032(ab)))), two, out);
#endif
}

/// How a pass walks the rows: a width known when compiling (0: any) lets the loops unroll, and rows
/// that are not in the L1 cache are prefetched two tiles ahead, spread over the work.
template <class T, int kWidth, bool kPrefetch>
struct Walk {
  static constexpr int kGroup = kPassRows;        ///< rows whose q are known together
  static constexpr Index kLine = 64 / sizeof(T);  ///< numbers of a cache line
  const Segment& s;

  [[nodiscard]] HWY_INLINE Index width() const { return kWidth > 0 ? kWidth : s.rows.stride; }

  /// q_r = y_r . p
  HWY_INLINE void dots(const Tile<T>& t, const Tile<T>& soon, const float* HWY_RESTRICT p,
                       float* HWY_RESTRICT q) const {
    const Tag d;
    Vec s0 = hn::Zero(d), s1 = s0, s2 = s0, s3 = s0, s4 = s0, s5 = s0, s6 = s0, s7 = s0;
    for (Index j = 0; j < width(); j += lanes()) {
      const Vec x = hn::Load(d, p + j);
      s0 = hn::MulAdd(load(t.y[0] + j), x, s0);
      s1 = hn::MulAdd(load(t.y[1] + j), x, s1);
      s2 = hn::MulAdd(load(t.y[2] + j), x, s2);
      s3 = hn::MulAdd(load(t.y[3] + j), x, s3);
      s4 = hn::MulAdd(load(t.y[4] + j), x, s4);
      s5 = hn::MulAdd(load(t.y[5] + j), x, s5);
      s6 = hn::MulAdd(load(t.y[6] + j), x, s6);
      s7 = hn::MulAdd(load(t.y[7] + j), x, s7);
      if (kPrefetch && (lanes() == kLine || j % kLine == 0)) {
        for (Offset r = 0; r < kPassRows; ++r) hwy::Prefetch(soon.y[r] + j);
      }
    }
    store_sums(s0, s1, s2, s3, q);
    store_sums(s4, s5, s6, s7, q + 4);
  }

  /// sum += sum_r c_r y_r
  HWY_INLINE void add(const Tile<T>& t, const float* HWY_RESTRICT c,
                      float* HWY_RESTRICT sum) const {
    const Tag d;
    const Vec c0 = hn::Set(d, c[0]), c1 = hn::Set(d, c[1]), c2 = hn::Set(d, c[2]);
    const Vec c3 = hn::Set(d, c[3]), c4 = hn::Set(d, c[4]), c5 = hn::Set(d, c[5]);
    const Vec c6 = hn::Set(d, c[6]), c7 = hn::Set(d, c[7]);
    for (Index j = 0; j < width(); j += lanes()) {
      Vec even = hn::MulAdd(c0, load(t.y[0] + j), hn::Load(d, sum + j));
      Vec odd = hn::Mul(c1, load(t.y[1] + j));
      even = hn::MulAdd(c2, load(t.y[2] + j), even);
      odd = hn::MulAdd(c3, load(t.y[3] + j), odd);
      even = hn::MulAdd(c4, load(t.y[4] + j), even);
      odd = hn::MulAdd(c5, load(t.y[5] + j), odd);
      even = hn::MulAdd(c6, load(t.y[6] + j), even);
      odd = hn::MulAdd(c7, load(t.y[7] + j), odd);
      hn::Store(hn::Add(even, odd), d, sum + j);
    }
  }

  /// For every tile q = its rows . p, which weigh(first interaction, q) makes the rows' shares in
  /// `sum`. Without a sum (null) the rest of the work is weigh()'s.
  template <bool kSum, class Weigh>
  HWY_INLINE void each_group(const float* p, float* sum, const Weigh& weigh) const {
    constexpr Offset kAhead = 2 * kPassRows;
    HWY_ALIGN float q[kPassRows];
    Tile<T> tile = tile_at<T>(s, 0);
    Tile<T> next = tile_at<T>(s, std::min(kPassRows, s.padded - kPassRows));
    for (Offset i = 0; i < s.padded; i += kPassRows) {
      const Tile<T> soon = tile_at<T>(s, std::min(i + kAhead, s.padded - kPassRows));
      dots(tile, soon, p, q);
      weigh(i, q);
      if constexpr (kSum) add(tile, q, sum);
      tile = next;
      next = soon;
    }
  }
};

#if HWY_TARGET <= HWY_AVX3
/// The same where 32 registers of 16 lanes hold the sum and, of rows in float16, as many as a group
/// has: every number is read and converted once. That conversion is what binds rows in a cache.
template <int kWidth, bool kPrefetch>
struct HeldWalk {
  static constexpr int kVectors = kWidth / 16;
  static constexpr int kGroup = kVectors <= 2 ? 8 : kVectors <= 4 ? 4 : 2;
  const Segment& s;

  HWY_INLINE const std::uint16_t* row(Offset i) const {
    return s.rows.halves + Offset{s.columns[i]} * kWidth;
  }

  template <bool kSum, class Weigh>
  HWY_INLINE void each_group(const float* HWY_RESTRICT p, float* HWY_RESTRICT sum,
                             const Weigh& weigh) const {
    constexpr Offset kAhead = 4096 / (2 * kWidth);  // bytes over those of a row
    constexpr int kLine = 32;                       // numbers of a cache line
    const Tag d;
    HWY_ALIGN float q[kGroup];
    Vec total[kVectors];
    HWY_UNROLL(8)
    for (int v = 0; kSum && v < kVectors; ++v) total[v] = hn::Load(d, sum + v * 16);
    for (Offset i = 0; i < s.padded; i += kGroup) {
      if (kPrefetch) {
        const Offset ahead = std::min<Offset>(i + kAhead, s.padded - kGroup);
        HWY_UNROLL(8)
        for (int r = 0; r < kGroup; ++r) {
          const std::uint16_t* soon = row(ahead + r);
          for (int j = 0; j < kWidth; j += kLine) hwy::Prefetch(soon + j);
        }
      }
      Vec y[kGroup][kVectors];
      Vec dot[kGroup];
      HWY_UNROLL(8)
      for (int r = 0; r < kGroup; ++r) {
        const std::uint16_t* from = row(i + r);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) y[r][v] = load(from + v * 16);
        dot[r] = hn::Mul(y[r][0], hn::Load(d, p));
        HWY_UNROLL(8)
        for (int v = 1; v < kVectors; ++v) {
          dot[r] = hn::MulAdd(y[r][v], hn::Load(d, p + v * 16), dot[r]);
        }
      }
      if constexpr (kGroup == 2) {
        store_sums(dot[0], dot[1], q);
      } else {
        HWY_UNROLL(8)
        for (int r = 0; r < kGroup; r += 4) {
          store_sums(dot[r], dot[r + 1], dot[r + 2], dot[r + 3], q + r);
        }
      }
      weigh(i, q);
      HWY_UNROLL(8)
      for (int r = 0; kSum && r < kGroup; ++r) {
        const Vec c = hn::Set(d, q[r]);
        HWY_UNROLL(8)
        for (int v = 0; v < kVectors; ++v) total[v] = hn::MulAdd(c, y[r][v], total[v]);
      }
    }
    HWY_UNROLL(8)
    for (int v = 0; kSum && v < kVectors; ++v) hn::Store(total[v], d, sum + v * 16);
  }
};
#endif

/// What happens to a group's q: a few at a time, no more than store_sums() wrote at once (so that
/// loads are forwarded), and summed in float64: the objective is a difference of large sums.
template <class Rows>
using GroupTag = hn::CappedTag<float, HWY_TARGET <= HWY_AVX2 && Rows::kGroup >= 4 ? 4 : 2>;
template <class Tag>
using SumTag = hn::Rebind<double, Tag>;
template <class Tag>
using SumVec = hn::Vec<SumTag<Tag>>;
template <class Tag>
HWY_INLINE SumVec<Tag> add_products(Tag, hn::Vec<Tag> a, hn::Vec<Tag> b, SumVec<Tag> sums) {
  const SumTag<Tag> d;
  return hn::MulAdd(hn::PromoteTo(d, a), hn::PromoteTo(d, b), sums);
}
template <class Tag>
HWY_INLINE double total(Tag, SumVec<Tag> sums) {
  return hn::GetLane(hn::SumOfLanes(SumTag<Tag>(), sums));
}

struct AddResidualPass {
  const float* z;
  float* r;
  template <class Rows>
  StartSums operator()(const Rows& walk) const {
    const GroupTag<Rows> d;
    auto wqq = hn::Zero(SumTag<GroupTag<Rows>>());
    auto vq = wqq;
    const Segment& s = walk.s;
    walk.template each_group<true>(z, r, [&](Offset i, float* q) HWY_ATTR {
      for (int k = 0; k < Rows::kGroup; k += static_cast<int>(hn::Lanes(d))) {
        const auto qk = hn::Load(d, q + k);
        const auto v = hn::LoadU(d, s.v + i + k);
        const auto wq = hn::Mul(hn::LoadU(d, s.w + i + k), qk);
        wqq = add_products(d, wq, qk, wqq);
        vq = add_products(d, v, qk, vq);
        hn::Store(hn::Sub(v, wq), d, q + k);
      }
    });
    return {total(d, wqq), total(d, vq)};
  }
};

/// The product and its curvature (kSum), or the curvature alone.
template <bool kSum>
struct ProductPass {
  const float* p;
  float* product;
  template <class Rows>
  double operator()(const Rows& walk) const {
    const GroupTag<Rows> d;
    auto pap = hn::Zero(SumTag<GroupTag<Rows>>());
    const Segment& s = walk.s;
    walk.template each_group<kSum>(p, product, [&](Offset i, float* q) HWY_ATTR {
      for (int k = 0; k < Rows::kGroup; k += static_cast<int>(hn::Lanes(d))) {
        const auto qk = hn::Load(d, q + k);
        const auto wq = hn::Mul(hn::LoadU(d, s.w + i + k), qk);
        pap = add_products(d, wq, qk, pap);
        if (kSum) hn::Store(wq, d, q + k);
      }
    });
    return total(d, pap);
  }
};

/// Whether a row of float16 is held in registers.
template <class T, int kWidth>
constexpr bool kHeld = HWY_TARGET <= HWY_AVX3 &&
                       sizeof(T) == 2 && kWidth > 0 && kWidth <= 128 && kWidth % 16 == 0;

template <class T, int kWidth, bool kPrefetch, class Pass>
HWY_INLINE auto walk_rows(const Segment& s, const Pass& pass) {
#if HWY_TARGET <= HWY_AVX3
  if constexpr (kHeld<T, kWidth>) return pass(HeldWalk<kWidth, kPrefetch>{s});
#endif
  if constexpr (!kHeld<T, kWidth>) return pass(Walk<T, kWidth, kPrefetch>{s});
}

template <class T, bool kPrefetch, class Pass>
HWY_INLINE auto walk_width(const Segment& s, const Pass& pass) {
  switch (s.rows.stride) {
    case 16:
      return walk_rows<T, 16, kPrefetch>(s, pass);
    case 32:
      return walk_rows<T, 32, kPrefetch>(s, pass);
    case 64:
      return walk_rows<T, 64, kPrefetch>(s, pass);
    case 112:
      return walk_rows<T, 112, kPrefetch>(s, pass);
    case 128:
      return walk_rows<T, 128, kPrefetch>(s, pass);
    default:
      return walk_rows<T, 0, kPrefetch>(s, pass);
  }
}

/// A first pass finds its rows anywhere; later ones find short segments in the L1 cache.
template <class T, class Pass>
HWY_INLINE auto walk_stored(const Segment& s, bool first, const Pass& pass) {
  constexpr Offset kFirstLevelBytes = 24576;
  return first || s.padded * s.rows.row_bytes() > kFirstLevelBytes ? walk_width<T, true>(s, pass)
                                                                   : walk_width<T, false>(s, pass);
}

template <class Pass>
HWY_INLINE auto walk(const Segment& s, bool first, const Pass& pass) {
  return s.rows.halves != nullptr ? walk_stored<std::uint16_t>(s, first, pass)
                                  : walk_stored<float>(s, first, pass);
}

// ---- passes over a segment ----

StartSums AddResidual(const Segment& s, const float* z, float* r) {
  if (s.padded == 0) return {};
  return walk(s, true, AddResidualPass{z, r});
}

double AddProduct(const Segment& s, const float* p, float* product) {
  return s.padded == 0 ? 0.0 : walk(s, false, ProductPass<true>{p, product});
}

double Curvature(const Segment& s, const float* p) {
  return s.padded == 0 ? 0.0 : walk(s, false, ProductPass<false>{p, nullptr});
}

template <class T>
HWY_INLINE void add_stored(const Segment& s, const float* c, float* sum) {
  for (Offset i = 0; i < s.padded; i += kPassRows) {
    Walk<T, 0, false>{s}.add(tile_at<T>(s, i), c + i, sum);
  }
}

void AddRows(const Segment& s, const float* c, float* sum) {
  s.rows.halves != nullptr ? add_stored<std::uint16_t>(s, c, sum) : add_stored<float>(s, c, sum);
}

template <class T>
HWY_INLINE void copy_stored(const Segment& s, Offset first, Offset count, float* out) {
  for (Offset i = first; i < first + count; ++i, out += s.rows.stride) {
    const T* y = stored<T>(s.rows) + Offset{s.columns[i]} * s.rows.stride;
    for (Index j = 0; j < s.rows.stride; j += lanes()) hn::Store(load(y + j), Tag(), out + j);
  }
}

void CopyRows(const Segment& s, Offset first, Offset count, float* out) {
  s.rows.halves != nullptr ? copy_stored<std::uint16_t>(s, first, count, out)
                           : copy_stored<float>(s, first, count, out);
}

void StoreFloat16(const float* from, float scale, Offset count, std::uint16_t* to) {
  const Tag d;
  const Vec factor = hn::Set(d, scale);
  for (Offset i = 0; i < count; i += lanes()) {
    store_float16(d, hn::Mul(factor, hn::Load(d, from + i)), to + i);
  }
}

bool ConvertsFloat16() { return kConvertsFloat16; }

std::int64_t PassesTarget() { return HWY_TARGET; }

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {
HWY_EXPORT(AddResidual);
HWY_EXPORT(AddProduct);
HWY_EXPORT(Curvature);
HWY_EXPORT(AddRows);
HWY_EXPORT(CopyRows);
HWY_EXPORT(StoreFloat16);
HWY_EXPORT(ConvertsFloat16);
HWY_EXPORT(PassesTarget);

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
void copy_rows(const Segment& s, Offset first, Offset count, float* out) {
  HWY_DYNAMIC_DISPATCH(CopyRows)(s, first, count, out);
}
void store_float16(const float* from, float scale, Offset count, std::uint16_t* to) {
  HWY_DYNAMIC_DISPATCH(StoreFloat16)(from, scale, count, to);
}
bool converts_float16() { return HWY_DYNAMIC_DISPATCH(ConvertsFloat16)(); }
std::int64_t passes_target() { return HWY_DYNAMIC_DISPATCH(PassesTarget)(); }

}  // namespace likewise::kernels
#endif
