// SPDX-License-Identifier: Apache-2.0
/// AMX: one tdpbsud multiplies 16 queries x 64 bytes with 64 bytes x 16 items, 16 times what a
/// vpdpbusd does. Panels lie in memory as its tiles want them; queries do where they are equally
/// far apart, else they are copied. Sums are whole numbers, the same as without tiles.
#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

#include "backends/cpu/kernels/find_hits.h"

#if defined(__x86_64__) && defined(__linux__) && (defined(__GNUC__) || defined(__clang__))
#define LIKEWISE_HAS_AMX_TEXT 1
#include <cpuid.h>
#include <immintrin.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace likewise::kernels {

#ifdef LIKEWISE_HAS_AMX_TEXT

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wuninitialized"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wmaybe-uninitialized"
#endif

namespace {

#define LIKEWISE_AMX __attribute__((target("avx512f,avx512bw,avx512vl,avx512dq,amx-tile,amx-int8")))
#define LIKEWISE_AMX_INLINE LIKEWISE_AMX inline __attribute__((always_inline))

constexpr Index kTileRows = 16;    // queries
constexpr Index kTileGroups = 16;  // of a query, 64 bytes
constexpr Index kVectors = 4;      // of 16 items: a panel
constexpr Offset kLanes = 16;
constexpr Offset kPanelRow = kPanelItems * kGroupFactors;  // bytes

/// What ldtilecfg reads.
struct alignas(64) TileShapes {
  std::uint8_t palette = 1;
  std::uint8_t start = 0;
  std::uint8_t reserved[14] = {};
  std::uint16_t row_bytes[16] = {};
  std::uint8_t rows[16] = {};
};

/// Tiles 0 to 3 are sums, 4 and 5 queries and items of 64 bytes; 6 and 7 are those of the last,
/// shorter group of bytes.
[[nodiscard]] TileShapes shapes_for(Index last_groups) {
  TileShapes shapes;
  const auto set = [&](int tile, Index rows, Index bytes) {
    shapes.rows[tile] = static_cast<std::uint8_t>(rows);
    shapes.row_bytes[tile] = static_cast<std::uint16_t>(bytes);
  };
  for (int tile = 0; tile < 4; ++tile) set(tile, kTileRows, 64);
  set(4, kTileRows, 64);
  set(5, kTileGroups, 64);
  if (last_groups == 0) return shapes;
  set(6, kTileRows, last_groups * kGroupFactors);
  set(7, last_groups, 64);
  return shapes;
}

/// The rows of a tile of queries.
struct QueryRows {
  const ByteGroup* first;
  Offset stride;  ///< bytes
};

/// `count` queries, up to 16, as the rows of tiles: where they are, or copied to `room`. What lies
/// behind the last one is of no account, but must be there.
[[nodiscard]] QueryRows rows_of(const ByteQuery* queries, Index count, Index groups,
                                ByteGroup* room) {
  const auto bytes = static_cast<std::size_t>(groups) * sizeof(ByteGroup);
  if (count == kTileRows) {
    const std::ptrdiff_t apart = queries[1].factors - queries[0].factors;
    bool equally = true;
    for (Index q = 2; q < count; ++q) {
      equally = equally && queries[q].factors - queries[q - 1].factors == apart;
    }
    if (equally) return {queries[0].factors, apart * Offset{sizeof(ByteGroup)}};
  }
  for (Index q = 0; q < count; ++q) {
    std::memcpy(room + Offset{q} * groups, queries[q].factors, bytes);
  }
  return {room, static_cast<Offset>(bytes)};
}

/// Sums of 16 queries and the 64 items of a panel, a vector of items after the other.
LIKEWISE_AMX_INLINE void multiply(const std::uint8_t* panel, Index groups, const QueryRows& rows,
                                  std::int32_t* sums) {
  asm volatile("" ::: "memory");  // GCC does not see that tiles read memory
  _tile_zero(0);
  _tile_zero(1);
  _tile_zero(2);
  _tile_zero(3);
  Index g = 0;
  for (; g + kTileGroups <= groups; g += kTileGroups) {
    const std::uint8_t* const items = panel + g * kPanelRow;
    _tile_loadd(4, rows.first + g, rows.stride);
    _tile_loadd(5, items, kPanelRow);
    _tile_dpbsud(0, 4, 5);
    _tile_loadd(5, items + 64, kPanelRow);
    _tile_dpbsud(1, 4, 5);
    _tile_loadd(5, items + 128, kPanelRow);
    _tile_dpbsud(2, 4, 5);
    _tile_loadd(5, items + 192, kPanelRow);
    _tile_dpbsud(3, 4, 5);
  }
  if (g < groups) {
    const std::uint8_t* const items = panel + g * kPanelRow;
    _tile_loadd(6, rows.first + g, rows.stride);
    _tile_loadd(7, items, kPanelRow);
    _tile_dpbsud(0, 6, 7);
    _tile_loadd(7, items + 64, kPanelRow);
    _tile_dpbsud(1, 6, 7);
    _tile_loadd(7, items + 128, kPanelRow);
    _tile_dpbsud(2, 6, 7);
    _tile_loadd(7, items + 192, kPanelRow);
    _tile_dpbsud(3, 6, 7);
  }
  constexpr Offset kStride = kPanelItems * sizeof(std::int32_t);
  _tile_stored(0, sums, kStride);
  _tile_stored(1, sums + kLanes, kStride);
  _tile_stored(2, sums + 2 * kLanes, kStride);
  _tile_stored(3, sums + 3 * kLanes, kStride);
}

template <bool kBiased>
LIKEWISE_AMX_INLINE std::uint64_t hits_of(const std::int32_t* sums, const float* bias, float scale,
                                          std::int32_t least) {
  __m512i sum[kVectors];
#pragma GCC unroll 4
  for (Index v = 0; v < kVectors; ++v) {
    sum[v] = _mm512_load_si512(sums + v * kLanes);
    if (kBiased) {
      const __m512 scaled = _mm512_mul_ps(_mm512_set1_ps(scale), _mm512_load_ps(bias + v * kLanes));
      sum[v] = _mm512_add_epi32(sum[v], _mm512_cvtps_epi32(scaled));
    }
  }
  const __m512i threshold = _mm512_set1_epi32(least);
  const __m512i best =
      _mm512_max_epi32(_mm512_max_epi32(sum[0], sum[1]), _mm512_max_epi32(sum[2], sum[3]));
  if (__builtin_expect(_mm512_cmpge_epi32_mask(best, threshold) == 0, 1)) return 0;
  std::uint64_t hits = 0;
#pragma GCC unroll 4
  for (Index v = 0; v < kVectors; ++v) {
    hits |= std::uint64_t{_mm512_cmpge_epi32_mask(sum[v], threshold)} << (v * kLanes);
  }
  return hits;
}

template <bool kBiased>
LIKEWISE_AMX void all_amx_tiles(const std::uint8_t* panel, const float* bias, Index groups,
                                const ByteQuery* queries, const std::int32_t* thresholds,
                                Index count, std::uint64_t* hits) {
  alignas(64) std::array<std::int32_t, std::size_t{kTileRows} * kPanelItems> sums;
  thread_local std::vector<ByteGroup> room;
  room.resize(std::max(room.size(), static_cast<std::size_t>(kTileRows * groups)));
  const TileShapes shapes = shapes_for(groups % kTileGroups);
  _tile_loadconfig(&shapes);
  for (Index q = 0; q < count; q += kTileRows) {
    const Index rows = count - q < kTileRows ? count - q : kTileRows;
    multiply(panel, groups, rows_of(queries + q, rows, groups, room.data()), sums.data());
    for (Index r = 0; r < rows; ++r) {
      hits[q + r] = hits_of<kBiased>(sums.data() + Offset{r} * kPanelItems, bias,
                                     queries[q + r].bias_scale, thresholds[q + r]);
    }
  }
  _tile_release();
}

/// The system keeps tiles over a change of threads only for programs that ask.
[[nodiscard]] bool may_use_tiles() {
  unsigned int a = 0;
  unsigned int b = 0;
  unsigned int c = 0;
  unsigned int d = 0;
  if (__get_cpuid_count(7, 0, &a, &b, &c, &d) == 0) return false;
  constexpr unsigned int kTile = 1U << 24;
  constexpr unsigned int kInt8 = 1U << 25;
  if ((d & kTile) == 0 || (d & kInt8) == 0) return false;
  constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
  constexpr long kTileData = 18;
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_byte_tiles() {
  static const bool has = has_byte_dot_products() && may_use_tiles();
  return has;
}

void find_hits_tiles(const std::uint8_t* panel, const float* bias, Index groups,
                     const ByteQuery* queries, const std::int32_t* thresholds, Index count,
                     std::uint64_t* hits) {
  const auto run = bias == nullptr ? all_amx_tiles<false> : all_amx_tiles<true>;
  run(panel, bias, groups, queries, thresholds, count, hits);
}

#pragma GCC diagnostic pop

#else

bool has_byte_tiles() { return false; }

void find_hits_tiles(const std::uint8_t*, const float*, Index, const ByteQuery*,
                     const std::int32_t*, Index, std::uint64_t*) {}

#endif

}  // namespace likewise::kernels
