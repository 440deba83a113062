// SPDX-License-Identifier: Apache-2.0
/// One vpdpbusd multiplies 64 bytes where a float32 FMA multiplies 16 numbers. Highway 1.0 has no
/// name for it, so this is the one kernel written in x86 terms; everyone else uses find_hits().
#include <hwy/targets.h>

#include "backends/cpu/kernels/find_hits.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define LIKEWISE_HAS_VNNI_TEXT 1
#include <immintrin.h>
#endif

namespace likewise::kernels {

#ifdef LIKEWISE_HAS_VNNI_TEXT

namespace {

#define LIKEWISE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define LIKEWISE_VNNI_INLINE LIKEWISE_VNNI inline __attribute__((always_inline))

// 6 queries x 4 vectors of 16 items: 24 sums of 32 registers, each item vector loaded once.
constexpr Index kTileQueries = 6;
constexpr Index kVectors = 4;
constexpr Index kLanes = 16;
// GCC 12 warns about its own unmasked conversion.
constexpr __mmask16 kAll = 0xFFFF;

template <Index kQueries>
LIKEWISE_VNNI_INLINE void tile(const std::uint8_t* panel, const float* bias, Index groups,
                               const ByteQuery* queries, const std::int32_t* thresholds,
                               std::uint64_t* hits) {
  __m512i sum[kQueries][kVectors];
#pragma GCC unroll 8
  for (Index q = 0; q < kQueries; ++q) {
    const __m512 scale = _mm512_set1_ps(queries[q].bias_scale);
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      sum[q][v] = bias == nullptr
                      ? _mm512_setzero_si512()
                      : _mm512_maskz_cvtps_epi32(
                            kAll, _mm512_mul_ps(scale, _mm512_load_ps(bias + v * kLanes)));
    }
  }
  for (Index g = 0; g < groups; ++g) {
    __m512i item[kVectors];
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      item[v] = _mm512_load_si512(panel + (Offset{g} * kVectors + v) * 64);
    }
#pragma GCC unroll 8
    for (Index q = 0; q < kQueries; ++q) {
      const __m512i factors = _mm512_set1_epi32(queries[q].factors[g]);
#pragma GCC unroll 4
      for (Index v = 0; v < kVectors; ++v) {
        sum[q][v] = _mm512_dpbusd_epi32(sum[q][v], item[v], factors);
      }
    }
  }
#pragma GCC unroll 8
  for (Index q = 0; q < kQueries; ++q) {
    const __m512i threshold = _mm512_set1_epi32(thresholds[q]);
    std::uint64_t bits = 0;
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      const __mmask16 mask = _mm512_cmpge_epi32_mask(sum[q][v], threshold);
      bits |= std::uint64_t{mask} << (v * kLanes);
    }
    hits[q] = bits;
  }
}

LIKEWISE_VNNI void all_tiles(const std::uint8_t* panel, const float* bias, Index groups,
                             const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                             std::uint64_t* hits) {
  Index q = 0;
  for (; q + kTileQueries <= count; q += kTileQueries) {
    tile<kTileQueries>(panel, bias, groups, queries + q, thresholds + q, hits + q);
  }
  for (; q + 2 <= count; q += 2) {
    tile<2>(panel, bias, groups, queries + q, thresholds + q, hits + q);
  }
  if (q < count) tile<1>(panel, bias, groups, queries + q, thresholds + q, hits + q);
}

}  // namespace

// Highway's AVX3_DL level has VNNI, and LIKEWISE_ISA can take it away.
bool has_byte_dot_products() { return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; }

void find_hits_bytes(const std::uint8_t* panel, const float* bias, Index groups,
                     const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                     std::uint64_t* hits) {
  all_tiles(panel, bias, groups, queries, thresholds, count, hits);
}

#else

bool has_byte_dot_products() { return false; }

void find_hits_bytes(const std::uint8_t*, const float*, Index, const ByteQuery*,
                     const std::int32_t*, Index, std::uint64_t*) {}

#endif

}  // namespace likewise::kernels
