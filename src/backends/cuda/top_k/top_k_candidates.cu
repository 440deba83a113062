// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <math_constants.h>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/half_matrices.cuh"
#include "backends/cuda/device/warp.cuh"
#include "backends/cuda/top_k/top_k_candidates.h"

namespace likewise::cuda {
namespace {

constexpr int kTile = kTopKTile;
constexpr int kDepth = kTopKDepth;
constexpr int kStages = 3;
constexpr int kThreads = 128;
constexpr int kTileBytes = kTile * kDepth * 2;
constexpr int kBlocksAtATime = 2;  // of a multiprocessor
constexpr int kLeastRoom = 512;    // for what a query keeps
constexpr int kResolvedBits = 22;  // of the k-th largest: more cannot be worth it beside E
constexpr Index kLeastTiles = 4;   // of a share

/// What a block keeps of its queries.
struct Rows {
  float threshold[kTile];
  float scale[kTile];
  float error[kTile];
  float norm[kTile];
  int count[kTile];    ///< kept, some of which a filter may take away
  int checked[kTile];  ///< the first ones, which no filter takes
};
constexpr int kShared = kStages * 2 * kTileBytes + static_cast<int>(sizeof(Rows));

/// Rows `first`.. of 128 to shared memory, depths `depth` .. of 64. 16-byte units are turned by the
/// row, so that eight rows of a matrix lie in different banks.
__device__ __forceinline__ void copy_tile(std::uint32_t to, const __half* table, Index pitch,
                                          Index first, int depth) {
#pragma unroll
  for (int i = 0; i < kTile * 8 / kThreads; ++i) {
    const int unit = static_cast<int>(threadIdx.x) + i * kThreads;
    const int row = unit / 8;
    const int chunk = unit % 8;
    copy_16_async(to + row * 128 + ((chunk ^ (row & 7)) * 16),
                  table + Offset{first + row} * pitch + depth + chunk * 8, true);
  }
}

__device__ __forceinline__ void load_unit(std::uint32_t (&x)[4], std::uint32_t tile, int row,
                                          int chunk) {
  load_matrices(x, tile + row * 128 + ((chunk ^ (row & 7)) * 16));
}

/// Numbers that rise as floats do.
__device__ __forceinline__ std::uint32_t rising(float x) {
  const auto bits = as<std::uint32_t>(x);
  return (bits & 0x80000000U) != 0 ? ~bits : bits | 0x80000000U;
}
__device__ __forceinline__ float from_rising(std::uint32_t x) {
  return as<float>((x & 0x80000000U) != 0 ? x & 0x7FFFFFFFU : ~x);
}

__device__ __forceinline__ bool may_have(const CandidateSearch& search, Index query, Index place) {
  if (place >= search.item_count) return false;
  if (search.allowed == nullptr && search.excluded == nullptr) return true;
  const Index item = search.item[place];
  if (search.allowed != nullptr && search.allowed[item] == 0) return false;
  if (search.excluded == nullptr) return true;
  const Offset origin = search.excluded_offsets[0];
  Offset begin = search.excluded_offsets[query] - origin;
  Offset end = search.excluded_offsets[query + 1] - origin;
  while (begin < end) {
    const Offset middle = (begin + end) / 2;
    const Index found = search.excluded[middle];
    if (found == item) return false;
    found < item ? begin = middle + 1 : end = middle;
  }
  return true;
}

/// A warp takes away what a query must not get and, where more than k are left, raises its
/// threshold and drops what is below.
__device__ void raise_threshold(const CandidateSearch& search, Rows& rows, int row, Index query,
                                Offset first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int count = rows.count[row];
  float* const estimates = search.kept.estimates + first;
  Index* const places = search.kept.places + first;
  int left = rows.checked[row];
  for (int begin = left; begin < count; begin += 32) {
    const int at = begin + lane;
    const bool stays = at < count && may_have(search, query, places[at]);
    if (at < count && !stays) estimates[at] = -CUDART_INF_F;
    left += __popc(__ballot_sync(0xffffffffU, stays));
  }
  __syncwarp();
  std::uint32_t prefix = 0;
  for (int bit = 31; bit > 31 - kResolvedBits; --bit) {
    const std::uint32_t next = prefix | 1U << bit;
    int above = 0;
    for (int at = lane; at < count; at += 32) above += rising(estimates[at]) >= next ? 1 : 0;
    if (__reduce_add_sync(0xffffffffU, above) >= search.k) prefix = next;
  }
  // No larger than the k-th.
  const float lowest = -3.0e38F;  // of any estimate
  const float threshold = left > search.k ? from_rising(prefix) - 2.0F * rows.error[row] : lowest;
  int kept = 0;
  for (int begin = 0; begin < count; begin += 32) {
    const int at = begin + lane;
    const float estimate = at < count ? estimates[at] : 0.0F;
    const Index place = at < count ? places[at] : 0;
    const bool stays = at < count && estimate >= threshold;
    const unsigned staying = __ballot_sync(0xffffffffU, stays);
    if (stays) {
      const int to = kept + __popc(staying & ((1U << lane) - 1U));
      estimates[to] = estimate;
      places[to] = place;
    }
    kept += __popc(staying);
    __syncwarp();
  }
  if (lane > 0) return;
  const bool full = kept + kTile > search.kept.room;
  rows.count[row] = full ? KeptPlaces::kTooMany : kept;
  rows.checked[row] = kept;
  if (full) rows.threshold[row] = CUDART_INF_F;
  if (!full && left > search.k) rows.threshold[row] = threshold;
}

/// All warps of the block, a row each in turn: those that have kept at least so many.
__device__ void raise_thresholds(const CandidateSearch& search, Rows& rows, Index first_row,
                                 int least) {
  for (int row = static_cast<int>(threadIdx.x) / 32; row < kTile; row += kThreads / 32) {
    if (rows.count[row] < least) continue;
    const Index query = first_row + row;
    const Offset at = (Offset{query} * search.kept.shares + blockIdx.y) * search.kept.room;
    raise_threshold(search, rows, row, query, at);
  }
}

template <bool kBiased>
__global__ void __launch_bounds__(kThreads, kBlocksAtATime)
    candidates_kernel(const __grid_constant__ CandidateSearch search) {
  extern __shared__ __align__(128) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory);
  Rows& rows = *reinterpret_cast<Rows*>(memory + kStages * 2 * kTileBytes);
  const Index left = static_cast<Index>(blockIdx.x) * kTile;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int own_row = static_cast<int>(threadIdx.x) / 64 * 64;
  const int own_column = static_cast<int>(threadIdx.x) / 32 % 2 * 64;
  const Index tiles = (search.item_count + kTile - 1) / kTile;
  const auto share = static_cast<Index>(blockIdx.y);
  const Index first_tile = static_cast<Index>(Offset{tiles} * share / search.kept.shares);
  const Index end_tile = static_cast<Index>(Offset{tiles} * (share + 1) / search.kept.shares);
  {
    const int row = static_cast<int>(threadIdx.x);
    const QueryNumbers numbers = search.numbers[left + row];
    rows.threshold[row] = left + row < search.query_count ? -CUDART_INF_F : CUDART_INF_F;
    rows.scale[row] = numbers.scale;
    rows.error[row] = numbers.error;
    rows.norm[row] = numbers.norm;
    rows.count[row] = 0;
    rows.checked[row] = 0;
  }
  const int depths = search.pitch / kDepth;
  const int steps = static_cast<int>(end_tile - first_tile) * depths;
  const auto fetch = [&](int step) {
    if (step < steps) {
      const std::uint32_t stage = shared + step % kStages * 2 * kTileBytes;
      const int depth = step % depths * kDepth;
      copy_tile(stage, search.queries, search.pitch, left, depth);
      copy_tile(stage + kTileBytes, search.items, search.pitch,
                (first_tile + step / depths) * kTile, depth);
    }
    commit_copies();
  };
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
  float c[4][8][4] = {};
  for (int step = 0; step < steps; ++step) {
    wait_for_copies<kStages - 2>();
    __syncthreads();
    fetch(step + kStages - 1);
    const std::uint32_t rows_at = shared + step % kStages * 2 * kTileBytes;
    const std::uint32_t columns_at = rows_at + kTileBytes;
#pragma unroll
    for (int k = 0; k < kDepth / 16; ++k) {
      std::uint32_t a[4][4];
      std::uint32_t b[4][4];
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        load_unit(a[i], rows_at, own_row + i * 16 + lane % 16, k * 2 + lane / 16);
        load_unit(b[i], columns_at, own_column + i * 16 + lane % 8 + lane / 16 * 8,
                  k * 2 + lane / 8 % 2);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          mma_half(c[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
    if ((step + 1) % depths != 0) continue;

    // A tile is complete. Most rows of a thread have nothing above their threshold.
    const Index tile = first_tile + step / depths;
    const Index first_place = tile * kTile + own_column + lane % 4 * 2;
    float2 bias[8];
    if (kBiased) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        bias[j] = *reinterpret_cast<const float2*>(search.bias + first_place + j * 8);
      }
    }
#pragma unroll
    for (int h = 0; h < 8; ++h) {
      const int row = own_row + h * 8 + lane / 4;
      const float threshold = rows.threshold[row];
      const float scale = kBiased ? rows.scale[row] : 0.0F;
      float best = -CUDART_INF_F;
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        float* const two = c[h / 2][j] + h % 2 * 2;
        if (kBiased) {
          two[0] = fmaf(scale, bias[j].x, two[0]);
          two[1] = fmaf(scale, bias[j].y, two[1]);
        }
        best = fmaxf(best, fmaxf(two[0], two[1]));
      }
      if (best >= threshold) {
        const Index query = left + row;
        const Offset at = (Offset{query} * search.kept.shares + share) * search.kept.room;
#pragma unroll
        for (int j = 0; j < 8; ++j) {
#pragma unroll
          for (int e = 0; e < 2; ++e) {
            const float estimate = c[h / 2][j][h % 2 * 2 + e];
            if (!(estimate >= threshold)) continue;
            const int to = atomicAdd(&rows.count[row], 1);
            search.kept.estimates[at + to] = estimate;  // there is room for a tile always
            search.kept.places[at + to] = first_place + j * 8 + e;
          }
        }
      }
    }
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
#pragma unroll
        for (int e = 0; e < 4; ++e) c[i][j][e] = 0.0F;
      }
    }
    __syncthreads();
    const int own = static_cast<int>(threadIdx.x);
    const int count = rows.count[own];
    const bool first_time = count > search.k && rows.threshold[own] == -CUDART_INF_F;
    if (__syncthreads_or(first_time || count + kTile > search.kept.room) != 0) {
      raise_thresholds(search, rows, left, search.k + 1);
      __syncthreads();
    }
    if (tile + 1 == end_tile) break;
    // Whoever cannot find more in what follows.
    const RestBound bound = search.rest[tile + 1];
    float above = rows.norm[own] * bound.norm * 1.0001F;
    if (kBiased) above += rows.scale[own] * bound.bias;
    const bool through =
        above + rows.error[own] < rows.threshold[own] || left + own >= search.query_count;
    if (__syncthreads_and(through) != 0) break;
  }
  wait_for_copies<0>();
  __syncthreads();
  raise_thresholds(search, rows, left, 1);
  __syncthreads();
  const Index own = left + static_cast<Index>(threadIdx.x);
  if (own < search.query_count) {
    search.kept.counts[Offset{own} * search.kept.shares + share] = rows.count[threadIdx.x];
  }
}

}  // namespace

int room_for(int k) {
  int room = kLeastRoom;
  while (room < 2 * k + 2 * kTile) room *= 2;
  return room;
}

int shares_for(Index queries, Index items) {
  const Index blocks = (queries + kTile - 1) / kTile;
  const Index tiles = (items + kTile - 1) / kTile;
  const Index wanted = kBlocksAtATime * multiprocessor_count() / std::max<Index>(1, blocks);
  return std::clamp<Index>(wanted, 1, std::max<Index>(1, tiles / kLeastTiles));
}

void find_candidates(const CandidateSearch& search, cudaStream_t stream) {
  const auto kernel = search.bias == nullptr ? candidates_kernel<false> : candidates_kernel<true>;
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  const dim3 grid(static_cast<unsigned>((search.query_count + kTile - 1) / kTile),
                  static_cast<unsigned>(search.kept.shares));
  kernel<<<grid, kThreads, kShared, stream>>>(search);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
