// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/kernels/pair_sums.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "backends/cpu/kernels/pair_sums.cpp"
#include <hwy/cache_control.h>
#include <hwy/foreach_target.h>
#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels::HWY_NAMESPACE {
namespace {

namespace hn = hwy::HWY_NAMESPACE;

/// How many columns ahead entries are prefetched, and how many bytes of them: the hardware
/// prefetches only where a column is long.
constexpr Offset kAhead = 6;
constexpr std::size_t kAheadValues = 512;
constexpr std::size_t kAheadCodes = 256;
constexpr std::size_t kAheadRanks = 256;
constexpr std::size_t kCacheLine = 64;

template <std::size_t kBytes, class T>
HWY_INLINE void prefetch(const T* from) {
  // Perhaps behind the end of the array: an address, not a pointer into it.
  const auto begin = reinterpret_cast<std::uintptr_t>(from);
  for (std::size_t byte = 0; byte < kBytes; byte += kCacheLine) {
    hwy::Prefetch(reinterpret_cast<const char*>(begin + byte));
  }
}

/// What says the values of a column: nothing where all are 1, a list, or codes in its groups.
enum class Values { kOnes, kListed, kCoded };

/// A column's part of the pass: its groups, and the rest of its ranks with their values.
template <Values kValues, class Rank>
struct Column {
  Offset groups;
  Offset listed;
  const std::uint16_t* masks = nullptr;
  const std::uint8_t* codes = nullptr;
  const Rank* ranks;
  const float* head_values = nullptr;
  const float* values = nullptr;  ///< of the listed ranks

  HWY_INLINE Column(const PairPass<Rank>& pass, Index number) {
    const ColumnStart& start = pass.starts[number];
    const ColumnStart& end = pass.starts[number + 1];
    groups = end.groups - start.groups;
    listed = end.ranks - start.ranks;
    ranks = pass.ranks + start.ranks;
    if (kValues == Values::kCoded) {
      codes = pass.codes + start.groups * kGroup;
    } else {
      masks = pass.masks + start.groups;
    }
    if (kValues != Values::kOnes) {
      head_values = pass.rank_values + start.values;
      values = pass.rank_values + end.values - listed;
    }
  }
};

/// Calls visit(value, column) for each entry of the row.
template <Values kValues, class Rank, class Visit>
HWY_INLINE void for_columns(const PairPass<Rank>& pass, const Visit& visit) {
  for (Offset e = 0; e < pass.count; ++e) {
    if (e + 2 * kAhead < pass.count) {
      hwy::Prefetch(pass.starts + pass.columns[e + 2 * kAhead]);
    }
    if (e + kAhead < pass.count) {
      const ColumnStart& ahead = pass.starts[pass.columns[e + kAhead]];
      if (kValues == Values::kCoded) {
        prefetch<kAheadCodes>(pass.codes + ahead.groups * kGroup);
      } else {
        prefetch<kCacheLine>(pass.masks + ahead.groups);
      }
      prefetch<kAheadRanks>(pass.ranks + ahead.ranks);
      if (kValues == Values::kListed) prefetch<kAheadValues>(pass.rank_values + ahead.values);
    }
    visit(pass.values[e], Column<kValues, Rank>(pass, pass.columns[e]));
  }
}

/// Calls visit(position) for the listed ranks below the limit, four at a time where there are as
/// many. Ranks rise, so the last of four decides for all of them, and the four are different rows.
template <Values kValues, class Rank, class VisitFour, class Visit>
HWY_INLINE void for_listed(const Column<kValues, Rank>& column, Index limit,
                           const VisitFour& visit_four, const Visit& visit) {
  const auto below = [&](Offset at) HWY_ATTR {
    return static_cast<std::uint32_t>(column.ranks[at]) < static_cast<std::uint32_t>(limit);
  };
  Offset at = 0;
  for (; at + 4 <= column.listed && below(at + 3); at += 4) visit_four(at);
  for (; at < column.listed && below(at); ++at) visit(at);
}

// Without AVX-512 a mask's bits come one by one, which costs more than a list.
#if HWY_ARCH_X86 && HWY_TARGET <= HWY_AVX3
constexpr bool kGroups = true;

/// Adds a times the 16 values to the sums of a group.
template <class T>
HWY_INLINE void add_values(T a, __m512 values, T* HWY_RESTRICT sums) {
  if constexpr (sizeof(T) == sizeof(float)) {
    _mm512_store_ps(sums, _mm512_fmadd_ps(_mm512_set1_ps(a), values, _mm512_load_ps(sums)));
  } else {
    const __m512d factor = _mm512_set1_pd(a);
    const __m512d low = _mm512_cvtps_pd(_mm512_castps512_ps256(values));
    const __m512d high = _mm512_cvtps_pd(_mm512_extractf32x8_ps(values, 1));
    _mm512_store_pd(sums, _mm512_fmadd_pd(factor, low, _mm512_load_pd(sums)));
    _mm512_store_pd(sums + 8, _mm512_fmadd_pd(factor, high, _mm512_load_pd(sums + 8)));
  }
}

/// Adds a b, b being the values of the ranks in the mask. Returns where the next group's begin.
/// Highway 1.0 has no name for the expansion; some processors take much longer for one that loads
/// by itself.
template <class T>
HWY_INLINE const float* add_group(T a, std::uint32_t mask, const float* HWY_RESTRICT b,
                                  T* HWY_RESTRICT sums) {
  add_values(a, _mm512_maskz_expand_ps(static_cast<__mmask16>(mask), _mm512_loadu_ps(b)), sums);
  return b + hwy::PopCount(mask);
}

/// Adds a b, b being the values that the codes of the ranks in the mask stand for.
template <class T>
HWY_INLINE void add_codes(T a, std::uint32_t mask, const std::uint8_t* HWY_RESTRICT codes,
                          __m512 code_values, T* HWY_RESTRICT sums) {
  const __m512i numbers =
      _mm512_cvtepu8_epi32(_mm_load_si128(reinterpret_cast<const __m128i*>(codes)));
  add_values(a, _mm512_maskz_permutexvar_ps(static_cast<__mmask16>(mask), numbers, code_values),
             sums);
}

/// The same where b is 1. It has no values to go on.
template <class T>
HWY_INLINE void add_ones(T a, std::uint32_t mask, T* HWY_RESTRICT sums) {
  if constexpr (sizeof(T) == sizeof(float)) {
    const __m512 old = _mm512_load_ps(sums);
    _mm512_store_ps(sums,
                    _mm512_mask_add_ps(old, static_cast<__mmask16>(mask), old, _mm512_set1_ps(a)));
  } else {
    const __m512d factor = _mm512_set1_pd(a);
    const __m512d low = _mm512_load_pd(sums);
    const __m512d high = _mm512_load_pd(sums + 8);
    _mm512_store_pd(sums, _mm512_mask_add_pd(low, static_cast<__mmask8>(mask), low, factor));
    _mm512_store_pd(sums + 8,
                    _mm512_mask_add_pd(high, static_cast<__mmask8>(mask >> 8), high, factor));
  }
}

/// The ranks in groups of a column below `limit`.
template <Values kValues, class Rank, class T>
HWY_INLINE void add_head(T a, const Column<kValues, Rank>& column, const float* code_values,
                         Index limit, T* HWY_RESTRICT sums) {
  const Offset below = limit / kGroup;
  const Offset whole = HWY_MIN(column.groups, below);
  const float* b = column.head_values;
  const __m512 table =
      kValues == Values::kCoded ? _mm512_load_ps(code_values) : _mm512_setzero_ps();
  const auto add = [&](Offset g, std::uint32_t within) HWY_ATTR {
    if constexpr (kValues == Values::kOnes) {
      add_ones(a, column.masks[g] & within, sums + g * kGroup);
    } else if constexpr (kValues == Values::kListed) {
      b = add_group(a, column.masks[g] & within, b, sums + g * kGroup);
    } else {
      add_codes(a, within, column.codes + g * kGroup, table, sums + g * kGroup);
    }
  };
  for (Offset g = 0; g < whole; ++g) add(g, 0xFFFF);
  const std::uint32_t rest = (1U << (limit % kGroup)) - 1;
  if (below < column.groups && rest != 0) add(below, rest);
}
#else
constexpr bool kGroups = false;

template <Values kValues, class Rank, class T>
HWY_INLINE void add_head(T, const Column<kValues, Rank>&, const float*, Index, T*) {}
#endif

bool groups_pay() { return kGroups; }

template <Values kValues, class Rank, class T>
HWY_INLINE void products_of(const PairPass<Rank>& pass, T* HWY_RESTRICT sums) {
  for_columns<kValues>(pass, [&](float value, const Column<kValues, Rank>& column) HWY_ATTR {
    const auto a = static_cast<T>(value);
    add_head(a, column, pass.code_values, pass.limit, sums);
    if (pass.limit <= column.groups * kGroup) return;
    const auto product = [&](Offset at) HWY_ATTR {
      return kValues == Values::kOnes ? a : a * static_cast<T>(column.values[at]);
    };
    const auto visit = [&](Offset at) HWY_ATTR { sums[column.ranks[at]] += product(at); };
    const auto visit_four = [&](Offset at) HWY_ATTR {
      const Rank* HWY_RESTRICT r = column.ranks + at;
      const T s0 = sums[r[0]] + product(at);
      const T s1 = sums[r[1]] + product(at + 1);
      const T s2 = sums[r[2]] + product(at + 2);
      const T s3 = sums[r[3]] + product(at + 3);
      sums[r[0]] = s0;
      sums[r[1]] = s1;
      sums[r[2]] = s2;
      sums[r[3]] = s3;
    };
    for_listed(column, pass.limit, visit_four, visit);
  });
}

template <class Rank, class T>
HWY_INLINE void products(const PairPass<Rank>& pass, T* HWY_RESTRICT sums) {
  if (pass.codes != nullptr) return products_of<Values::kCoded>(pass, sums);
  if (pass.rank_values == nullptr) return products_of<Values::kOnes>(pass, sums);
  products_of<Values::kListed>(pass, sums);
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
template <int kLanes, class Rank, class T, class MakeTerms>
HWY_INLINE void lane_sums(const PairPass<Rank>& pass, const MakeTerms& make_terms,
                          T* HWY_RESTRICT sums) {
  using D = HWY_CAPPED(T, kLanes);
  const D d;
  constexpr int kWidth = static_cast<int>(hn::MaxLanes(D()));
  constexpr int kVectors = kLanes / kWidth;
  hn::Vec<D> base[kVectors];
  hn::Vec<D> linear[kVectors];
  hn::Vec<D> square[kVectors];
  constexpr Values kValues = Values::kListed;
  for_columns<kValues>(pass, [&](float value, const Column<kValues, Rank>& column) HWY_ATTR {
    const Terms<T, kLanes> terms = make_terms(static_cast<T>(value));
    HWY_UNROLL(8)
    for (int v = 0; v < kVectors; ++v) {
      base[v] = hn::Load(d, terms.base + v * kWidth);
      linear[v] = hn::Load(d, terms.linear + v * kWidth);
      square[v] = hn::Load(d, terms.square + v * kWidth);
    }
    const auto visit = [&](Offset at) HWY_ATTR {
      const auto b = hn::Set(d, static_cast<T>(column.values[at]));
      T* HWY_RESTRICT sum = sums + Offset{column.ranks[at]} * kLanes;
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
    for_listed(column, pass.limit, visit_four, visit);
  });
}

template <class Rank, class T>
HWY_INLINE void squares(const PairPass<Rank>& pass, T* sums) {
  lane_sums<4>(
      pass, [](T a) HWY_ATTR { return square_terms(a); }, sums);
}

template <class Rank, class T>
HWY_INLINE void all(const PairPass<Rank>& pass, T* sums) {
  lane_sums<8>(
      pass, [](T a) HWY_ATTR { return all_terms(a); }, sums);
}

template <class T>
HWY_INLINE Index offers(const T* HWY_RESTRICT sums, const T* HWY_RESTRICT factors,
                        const float* HWY_RESTRICT thresholds, Index count, T factor,
                        float threshold, Index* HWY_RESTRICT hits) {
  const HWY_CAPPED(T, 64 / sizeof(T)) d;
  const hn::Rebind<float, decltype(d)> f;
  const auto lanes = static_cast<Index>(hn::Lanes(d));
  const auto own = hn::Set(f, threshold);
  const auto margin = hn::Set(f, 1e-6F);
  Index found = 0;
  Index i = 0;
  for (; i + lanes <= count; i += lanes) {
    const auto scaled =
        hn::Mul(hn::Mul(hn::LoadU(d, sums + i), hn::LoadU(d, factors + i)), hn::Set(d, factor));
    hn::Vec<decltype(f)> estimate;
    if constexpr (sizeof(T) == sizeof(float)) {
      estimate = scaled;
    } else {
      estimate = hn::DemoteTo(f, scaled);
    }
    const auto highest = hn::MulAdd(hn::Abs(estimate), margin, estimate);
    const auto needed = hn::Min(hn::LoadU(f, thresholds + i), own);
    const auto hit = hn::And(hn::Ge(highest, needed), hn::Ne(estimate, hn::Zero(f)));
    if (hn::AllFalse(f, hit)) continue;
    std::uint8_t bytes[8] = {};
    hn::StoreMaskBits(f, hit, bytes);
    for (auto bits = static_cast<std::uint32_t>(bytes[0] | bytes[1] << 8); bits != 0;
         bits &= bits - 1) {
      hits[found++] = i + static_cast<Index>(hwy::Num0BitsBelowLS1Bit_Nonzero32(bits));
    }
  }
  for (; i < count; ++i) {
    const auto estimate = static_cast<float>(sums[i] * factors[i] * factor);
    const float needed = thresholds[i] < threshold ? thresholds[i] : threshold;
    const float size = estimate < 0.0F ? -estimate : estimate;
    if (estimate != 0.0F && estimate + size * 1e-6F >= needed) hits[found++] = i;
  }
  return found;
}

void products_u16_f32(const PairPass<std::uint16_t>& pass, float* sums) { products(pass, sums); }
void products_u16_f64(const PairPass<std::uint16_t>& pass, double* sums) { products(pass, sums); }
void products_i32_f32(const PairPass<Index>& pass, float* sums) { products(pass, sums); }
void products_i32_f64(const PairPass<Index>& pass, double* sums) { products(pass, sums); }
void squares_u16_f32(const PairPass<std::uint16_t>& pass, float* sums) { squares(pass, sums); }
void squares_u16_f64(const PairPass<std::uint16_t>& pass, double* sums) { squares(pass, sums); }
void squares_i32_f32(const PairPass<Index>& pass, float* sums) { squares(pass, sums); }
void squares_i32_f64(const PairPass<Index>& pass, double* sums) { squares(pass, sums); }
void all_u16_f32(const PairPass<std::uint16_t>& pass, float* sums) { all(pass, sums); }
void all_u16_f64(const PairPass<std::uint16_t>& pass, double* sums) { all(pass, sums); }
void all_i32_f32(const PairPass<Index>& pass, float* sums) { all(pass, sums); }
void all_i32_f64(const PairPass<Index>& pass, double* sums) { all(pass, sums); }
Index offers_f32(const float* sums, const float* factors, const float* thresholds, Index count,
                 float factor, float threshold, Index* hits) {
  return offers(sums, factors, thresholds, count, factor, threshold, hits);
}
Index offers_f64(const double* sums, const double* factors, const float* thresholds, Index count,
                 double factor, float threshold, Index* hits) {
  return offers(sums, factors, thresholds, count, factor, threshold, hits);
}

}  // namespace
}  // namespace likewise::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace likewise::kernels {

HWY_EXPORT(groups_pay);
HWY_EXPORT(products_u16_f32);
HWY_EXPORT(products_u16_f64);
HWY_EXPORT(products_i32_f32);
HWY_EXPORT(products_i32_f64);
HWY_EXPORT(squares_u16_f32);
HWY_EXPORT(squares_u16_f64);
HWY_EXPORT(squares_i32_f32);
HWY_EXPORT(squares_i32_f64);
HWY_EXPORT(all_u16_f32);
HWY_EXPORT(all_u16_f64);
HWY_EXPORT(all_i32_f32);
HWY_EXPORT(all_i32_f64);
HWY_EXPORT(offers_f32);
HWY_EXPORT(offers_f64);

bool groups_pay() { return HWY_DYNAMIC_DISPATCH(groups_pay)(); }

template <>
void add_products(const PairPass<std::uint16_t>& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(products_u16_f32)(pass, sums);
}
template <>
void add_products(const PairPass<std::uint16_t>& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(products_u16_f64)(pass, sums);
}
template <>
void add_products(const PairPass<Index>& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(products_i32_f32)(pass, sums);
}
template <>
void add_products(const PairPass<Index>& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(products_i32_f64)(pass, sums);
}
template <>
void add_squares(const PairPass<std::uint16_t>& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(squares_u16_f32)(pass, sums);
}
template <>
void add_squares(const PairPass<std::uint16_t>& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(squares_u16_f64)(pass, sums);
}
template <>
void add_squares(const PairPass<Index>& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(squares_i32_f32)(pass, sums);
}
template <>
void add_squares(const PairPass<Index>& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(squares_i32_f64)(pass, sums);
}
template <>
void add_all(const PairPass<std::uint16_t>& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(all_u16_f32)(pass, sums);
}
template <>
void add_all(const PairPass<std::uint16_t>& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(all_u16_f64)(pass, sums);
}
template <>
void add_all(const PairPass<Index>& pass, float* sums) {
  HWY_DYNAMIC_DISPATCH(all_i32_f32)(pass, sums);
}
template <>
void add_all(const PairPass<Index>& pass, double* sums) {
  HWY_DYNAMIC_DISPATCH(all_i32_f64)(pass, sums);
}

template <>
Index find_offers(const float* sums, const float* factors, const float* thresholds, Index count,
                  float factor, float threshold, Index* hits) {
  return HWY_DYNAMIC_DISPATCH(offers_f32)(sums, factors, thresholds, count, factor, threshold,
                                          hits);
}
template <>
Index find_offers(const double* sums, const double* factors, const float* thresholds, Index count,
                  double factor, float threshold, Index* hits) {
  return HWY_DYNAMIC_DISPATCH(offers_f64)(sums, factors, thresholds, count, factor, threshold,
                                          hits);
}

}  // namespace likewise::kernels
#endif
