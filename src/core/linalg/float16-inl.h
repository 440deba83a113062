// SPDX-License-Identifier: Apache-2.0
/// Numbers in float16 as vectors of float32. Included once per instruction set (Highway).
// clang-format off
#if defined(LIKEWISE_FLOAT16_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LIKEWISE_FLOAT16_INL_H
#undef LIKEWISE_FLOAT16_INL_H
#else
#define LIKEWISE_FLOAT16_INL_H
#endif
// clang-format on

#include <cstdint>

#include <hwy/highway.h>

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {

/// Whether the processor's instructions convert float16; else it takes several for each.
constexpr bool kConvertsFloat16 =
    HWY_TARGET <= HWY_AVX2 || (HWY_ARCH_ARM && HWY_TARGET != HWY_SCALAR);

/// Numbers from the bits of float16.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> load_float16(D d, const std::uint16_t* from) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<std::uint16_t, D> bits;
  const hn::Rebind<hwy::float16_t, D> half;
  return hn::PromoteTo(d, hn::BitCast(half, hn::Load(bits, from)));
}

/// The nearest number that float16 has, where Highway's own conversion cuts bits off: 10 bits after
/// the first of normal numbers, multiples of 2^-24 (the last bit of 0.75) below.
template <class D>
HWY_INLINE hwy::HWY_NAMESPACE::Vec<D> round_to_float16(D d, hwy::HWY_NAMESPACE::Vec<D> x) {
  namespace hn = hwy::HWY_NAMESPACE;
  if (kConvertsFloat16) return x;
  const hn::RebindToUnsigned<D> du;
  const auto bits = hn::BitCast(du, x);
  const auto odd = hn::And(hn::ShiftRight<13>(bits), hn::Set(du, 1));
  const auto up = hn::Add(bits, hn::Add(odd, hn::Set(du, 0xFFF)));
  const auto normal = hn::BitCast(d, hn::And(up, hn::Set(du, 0xFFFFE000)));
  const auto shift = hn::Set(d, 0.75F);
  const auto small = hn::Sub(hn::Add(x, shift), shift);
  const auto rounded = hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 0x1p-14F)), small, normal);
  return hn::IfThenElse(hn::Lt(hn::Abs(x), hn::Set(d, 65504.0F)), rounded, x);
}

/// The bits of the nearest numbers in float16.
template <class D>
HWY_INLINE void store_float16(D d, hwy::HWY_NAMESPACE::Vec<D> x, std::uint16_t* to) {
  namespace hn = hwy::HWY_NAMESPACE;
  const hn::Rebind<std::uint16_t, D> bits;
  const hn::Rebind<hwy::float16_t, D> half;
  hn::Store(hn::BitCast(bits, hn::DemoteTo(half, round_to_float16(d, x))), bits, to);
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#endif  // per-target include guard
