// SPDX-License-Identifier: Apache-2.0
/// A row of factors that steps of SGD change again and again, kept in registers where it fits.
/// Included once per instruction set (Highway).
// clang-format off
#if defined(LIKEWISE_ROW_REGISTERS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef LIKEWISE_ROW_REGISTERS_INL_H
#undef LIKEWISE_ROW_REGISTERS_INL_H
#else
#define LIKEWISE_ROW_REGISTERS_INL_H
#endif
// clang-format on

#include <type_traits>

#include <hwy/highway.h>

#include "likewise/types.h"

HWY_BEFORE_NAMESPACE();
namespace likewise::kernels {
namespace HWY_NAMESPACE {

// Vectors of at most 16 lanes: every stride is a multiple of 16.
using Tag = hwy::HWY_NAMESPACE::CappedTag<float, 16>;
using Vec = hwy::HWY_NAMESPACE::Vec<Tag>;

HWY_INLINE Index lanes() { return static_cast<Index>(hwy::HWY_NAMESPACE::Lanes(Tag())); }

/// Into the cache, to be written.
HWY_INLINE void fetch(const float* row, Index stride) {
  for (Index j = 0; j < stride; j += 16) __builtin_prefetch(row + j, 1);
}

/// A row of kVectors vectors.
template <int kVectors>
struct RowRegisters {
  Vec x[kVectors];

  HWY_INLINE RowRegisters() {}  // the compiler's own is for another instruction set on ARM
  HWY_INLINE void load(const float* row) {
    for (int v = 0; v < kVectors; ++v) x[v] = hwy::HWY_NAMESPACE::Load(Tag(), row + v * lanes());
  }
  HWY_INLINE void store(float* row) const {
    for (int v = 0; v < kVectors; ++v) hwy::HWY_NAMESPACE::Store(x[v], Tag(), row + v * lanes());
  }
  /// Calls each(vector, place of its first number).
  template <class Each>
  HWY_INLINE void for_each(Index, const Each& each) {
    for (int v = 0; v < kVectors; ++v) each(x[v], v * lanes());
  }
};

/// A longer row, where it lies.
template <>
struct RowRegisters<0> {
  float* row = nullptr;

  HWY_INLINE void load(float* from) { row = from; }
  HWY_INLINE void store(float*) const {}
  template <class Each>
  HWY_INLINE void for_each(Index stride, const Each& each) {
    for (Index j = 0; j < stride; j += lanes()) {
      Vec x = hwy::HWY_NAMESPACE::Load(Tag(), row + j);
      each(x, j);
      hwy::HWY_NAMESPACE::Store(x, Tag(), row + j);
    }
  }
};

/// Calls work(std::integral_constant<int, kVectors>) for rows of this stride.
template <class Work>
HWY_INLINE double with_row_registers(Index stride, const Work& work) {
  switch (stride / lanes()) {
    case 1:
      return work(std::integral_constant<int, 1>());
    case 2:
      return work(std::integral_constant<int, 2>());
    case 3:
      return work(std::integral_constant<int, 3>());
    case 4:
      return work(std::integral_constant<int, 4>());
    case 6:
      return work(std::integral_constant<int, 6>());
    case 8:
      return work(std::integral_constant<int, 8>());
    default:
      return work(std::integral_constant<int, 0>());
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace likewise::kernels
HWY_AFTER_NAMESPACE();

#endif
