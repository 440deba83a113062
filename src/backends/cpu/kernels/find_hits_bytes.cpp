// SPDX-License-Identifier: Apache-2.0
/// One vpdpbusd multiplies 64 bytes where a float32 FMA multiplies 16 numbers. Highway 1.0 has no
/// name for it, so this kernel and that of tiles are written in x86 terms; everyone else uses
/// find_hits().
#include <limits>

#include <hwy/targets.h>

#include "backends/cpu/kernels/find_hits.h"

#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
#define LIKEWISE_HAS_VNNI_TEXT 1
#include <immintrin.h>
#endif

namespace likewise::kernels {

#ifdef LIKEWISE_HAS_VNNI_TEXT

// GCC 12's own header passes an undefined vector to unmasked operations, and warns about it here.
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace {

#define LIKEWISE_VNNI __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,avx512vnni")))
#define LIKEWISE_VNNI_INLINE LIKEWISE_VNNI inline __attribute__((always_inline))

// 6 queries x 4 vectors of 16 items: 24 sums of 32 registers, each item vector loaded once.
constexpr Index kTileQueries = 6;
constexpr Index kVectors = 4;
constexpr Offset kLanes = 16;

LIKEWISE_VNNI_INLINE __m512i scaled_bias(const float* bias, float scale) {
  return _mm512_cvtps_epi32(_mm512_mul_ps(_mm512_set1_ps(scale), _mm512_load_ps(bias)));
}

/// sum += four products of bytes per lane. Written as an instruction: GCC 12 keeps the intrinsic's
/// 24 sums in memory, which halves the speed.
LIKEWISE_VNNI_INLINE void multiply_add(__m512i& sum, __m512i items, __m512i factors) {
  asm("vpdpbusd %2, %1, %0" : "+v"(sum) : "v"(items), "v"(factors));
}

template <Index kQueries, bool kBiased>
LIKEWISE_VNNI_INLINE void tile(const std::uint8_t* panel, const float* bias, Index groups,
                               const ByteQuery* queries, const std::int32_t* thresholds,
                               std::uint64_t* hits) {
  __m512i sum[kQueries][kVectors];
#pragma GCC unroll 8
  for (Index q = 0; q < kQueries; ++q) {
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      sum[q][v] =
          kBiased ? scaled_bias(bias + v * kLanes, queries[q].bias_scale) : _mm512_setzero_si512();
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
      for (Index v = 0; v < kVectors; ++v) multiply_add(sum[q][v], item[v], factors);
    }
  }
#pragma GCC unroll 8
  for (Index q = 0; q < kQueries; ++q) {
    hits[q] = 0;
    const __m512i threshold = _mm512_set1_epi32(thresholds[q]);
    const __m512i best = _mm512_max_epi32(_mm512_max_epi32(sum[q][0], sum[q][1]),
                                          _mm512_max_epi32(sum[q][2], sum[q][3]));
    if (__builtin_expect(_mm512_cmpge_epi32_mask(best, threshold) == 0, 1)) continue;
#pragma GCC unroll 4
    for (Index v = 0; v < kVectors; ++v) {
      const __mmask16 mask = _mm512_cmpge_epi32_mask(sum[q][v], threshold);
      hits[q] |= std::uint64_t{mask} << (v * kLanes);
    }
  }
}

template <bool kBiased>
LIKEWISE_VNNI void all_tiles(const std::uint8_t* panel, const float* bias, Index groups,
                             const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                             std::uint64_t* hits) {
  Index q = 0;
  for (; q + kTileQueries <= count; q += kTileQueries) {
    tile<kTileQueries, kBiased>(panel, bias, groups, queries + q, thresholds + q, hits + q);
  }
  for (; q + 2 <= count; q += 2) {
    tile<2, kBiased>(panel, bias, groups, queries + q, thresholds + q, hits + q);
  }
  if (q < count) tile<1, kBiased>(panel, bias, groups, queries + q, thresholds + q, hits + q);
}

/// The compiler makes vectors of it.
LIKEWISE_VNNI void to_whole(const PanelUnits& panel, const QueryUnits& queries,
                            const float* __restrict thresholds, Index count,
                            std::int32_t* __restrict out) {
  constexpr double kLowest = std::numeric_limits<std::int32_t>::min();
  constexpr double kHighest = std::numeric_limits<std::int32_t>::max();
  const auto [panel_inverse, longest, panel_residual, bias_error] = panel;
  const double* const inverse = queries.inverse;
  const double* const residual = queries.residual;
  const double* const norm = queries.norm;
  const double* const shift = queries.shift;
  for (Index q = 0; q < count; ++q) {
    const double error = residual[q] * longest + norm[q] * panel_residual + bias_error;
    const double score =
        (double{thresholds[q]} - error) * (inverse[q] * panel_inverse) + shift[q] - 3.0;
    const double least = score > kLowest ? score : kLowest;
    out[q] = static_cast<std::int32_t>(least < kHighest ? least : kHighest);
  }
}

}  // namespace

void whole_thresholds(const PanelUnits& panel, const QueryUnits& queries, const float* thresholds,
                      Index count, std::int32_t* out) {
  to_whole(panel, queries, thresholds, count, out);
}

// Highway's AVX3_DL level has VNNI, and LIKEWISE_ISA can take it away.
bool has_byte_dot_products() { return (hwy::SupportedTargets() & HWY_AVX3_DL) != 0; }

void find_hits_bytes(const std::uint8_t* panel, const float* bias, Index groups,
                     const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                     std::uint64_t* hits) {
  if (has_byte_tiles()) {
    return find_hits_tiles(panel, bias, groups, queries, thresholds, count, hits);
  }
  const auto run = bias == nullptr ? all_tiles<false> : all_tiles<true>;
  run(panel, bias, groups, queries, thresholds, count, hits);
}

#pragma GCC diagnostic pop

#else

bool has_byte_dot_products() { return false; }

void whole_thresholds(const PanelUnits&, const QueryUnits&, const float*, Index, std::int32_t*) {}

void find_hits_bytes(const std::uint8_t*, const float*, Index, const ByteQuery*,
                     const std::int32_t*, Index, std::uint64_t*) {}

#endif

}  // namespace likewise::kernels
