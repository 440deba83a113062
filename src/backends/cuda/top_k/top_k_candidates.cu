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
constexpr int kThreads = 256;
constexpr int kWarpRows = 32;  // of a tile, and 64 columns: what a warp computes
constexpr int kTileBytes = kTile * kDepth * 2;
constexpr int kBlocksAtATime = 2;   // of a multiprocessor
constexpr int kLeastRoom = 512;     // for what a query keeps
constexpr int kResolvedBits = 22;   // of the k-th largest: more cannot be worth it beside E
constexpr Index kLeastTiles = 4;    // of a share
constexpr int kGroups = kTile / 4;  // of a row of a tile: the largest of four estimates
constexpr int kGroupsOfOne = 4;     // groups in the hands of a thread
constexpr int kTilesOfSample = 8;   // one in so many, at most, is looked at twice
constexpr int kCheckEvery = 8;      // tiles, for the end of a search

/// What a block keeps of its queries.
struct Rows {
  float threshold[kTile];  ///< S times the score of k items is at least so much
  float scale[kTile];
  float slope[kTile];
  float error[kTile];
  float norm[kTile];
  int count[kTile];  ///< kept
  int full_at[2];    ///< the last even and odd step behind which a query may have no room
};
constexpr int kDeniedBytes = kTile * kTile / 8;
constexpr int kRowsAt = kStages * (2 * kTileBytes + kDeniedBytes);
constexpr int kShared = kRowsAt + static_cast<int>(sizeof(Rows));

/// The part of a thread in bringing 128 rows of 64 depths to shared memory. 16-byte units are
/// turned by the row, so that eight rows of a matrix lie in different banks.
class TileCopy {
 public:
  __device__ explicit TileCopy(Index pitch)
      : from_(static_cast<int>(threadIdx.x / 8) * pitch + static_cast<int>(threadIdx.x % 8) * 8),
        to_(threadIdx.x / 8 * 128 + ((threadIdx.x ^ (threadIdx.x / 8)) % 8) * 16) {}

  /// `table` at the first row and depth.
  __device__ __forceinline__ void run(std::uint32_t to, const __half* table, Index pitch) const {
#pragma unroll
    for (int i = 0; i < kTile * 8 / kThreads; ++i) {
      copy_16_async(to + to_ + i * (kThreads / 8 * 128),
                    table + (from_ + i * (kThreads / 8) * pitch), true);
    }
  }

 private:
  int from_;
  std::uint32_t to_;
};

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

/// By a warp: a number that `wanted` of `count` reach, to some bits the largest such. -infinity
/// counts for nothing, and is the answer where the others are too few.
template <int kHeld, class ValueAt>
__device__ float reached_among(const ValueAt& value_at, int count, int wanted) {
  constexpr std::uint32_t kNothing = 0x007FFFFFU;  // rising(-infinity)
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const bool all_held = count <= kHeld * 32;
  std::uint32_t held[kHeld];
  std::uint32_t least = 0xFFFFFFFFU;
  std::uint32_t largest = 0;
  int some = 0;
  const auto meet = [&](std::uint32_t x) {
    if (x <= kNothing) return;
    least = min(least, x);
    largest = max(largest, x);
    ++some;
  };
#pragma unroll
  for (int u = 0; u < kHeld; ++u) {
    const int at = u * 32 + lane;
    held[u] = at < count ? rising(value_at(at)) : 0;
    meet(held[u]);
  }
  for (int at = kHeld * 32 + lane; at < count; at += 32) meet(rising(value_at(at)));
  some = __reduce_add_sync(0xffffffffU, some);
  if (some < wanted) return -CUDART_INF_F;
  least = __reduce_min_sync(0xffffffffU, least);
  largest = __reduce_max_sync(0xffffffffU, largest);
  if (some == wanted || least == largest) return from_rising(least);
  int bit = 31 - __clz(static_cast<int>(least ^ largest));
  std::uint32_t prefix = bit == 31 ? 0 : largest >> (bit + 1) << (bit + 1);
  for (int i = 0; i < kResolvedBits && bit >= 0; ++i, --bit) {
    const std::uint32_t next = prefix | 1U << bit;
    int above = 0;
#pragma unroll
    for (int u = 0; u < kHeld; ++u) above += held[u] >= next ? 1 : 0;
    if (!all_held) {
      for (int at = kHeld * 32 + lane; at < count; at += 32) {
        above += rising(value_at(at)) >= next ? 1 : 0;
      }
    }
    above = __reduce_add_sync(0xffffffffU, above);
    if (above >= wanted) prefix = next;
    if (above == wanted) break;
  }
  return from_rising(max(prefix, least));
}

template <class ValueAt>
__device__ float reached_by(const ValueAt& value_at, int count, int wanted) {
  if (count <= 64) return reached_among<2>(value_at, count, wanted);
  if (count <= 192) return reached_among<6>(value_at, count, wanted);
  return reached_among<16>(value_at, count, wanted);
}

/// How far estimates of a query with items of at most this length may be off.
__device__ __forceinline__ float margin_of(const Rows& rows, int row, float norm) {
  return fmaf(rows.slope[row], norm, rows.error[row]);
}

/// By a warp: moves those that stay to the front, and says how many there are.
template <class Stays>
__device__ __forceinline__ int keep_places(KeptPlace* places, int count, const Stays& stays) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  int kept = 0;
  for (int begin = 0; begin < count; begin += 32) {
    const int at = begin + lane;
    const KeptPlace one = at < count ? places[at] : KeptPlace{0.0F, 0};
    const bool staying = at < count && stays(one);
    const unsigned all = __ballot_sync(0xffffffffU, staying);
    if (staying) places[kept + __popc(all & ((1U << lane) - 1U))] = one;
    kept += __popc(all);
    __syncwarp();
  }
  return kept;
}

/// A warp raises the threshold of a query that has kept more than k, and drops what is below.
__device__ void raise_threshold(const CandidateSearch& search, Rows& rows, int row, Offset first) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int count = rows.count[row];
  KeptPlace* const places = search.kept.places + first;
  const auto least_at = [&](int at) { return places[at].least; };
  const float threshold = fmaxf(rows.threshold[row], reached_by(least_at, count, search.k));
  const int kept = keep_places(places, count, [&](const KeptPlace& one) {
    const float margin = margin_of(rows, row, search.rest[one.place / kTile].norm);
    return one.least + 2.0F * margin >= threshold;
  });
  if (lane > 0) return;
  const bool full = kept + kTile > search.kept.room;
  rows.count[row] = full ? KeptPlaces::kTooMany : kept;
  rows.threshold[row] = full ? CUDART_INF_F : threshold;
}

/// Groups of a sample are in the place of what will be kept.
[[nodiscard]] __device__ __forceinline__ float* groups_at(const CandidateSearch& search,
                                                          Offset first) {
  return &search.kept.places[first].least;
}

[[nodiscard]] __device__ __forceinline__ Offset kept_at(const CandidateSearch& search,
                                                        Index query) {
  return (Offset{query} * search.kept.shares + blockIdx.y) * search.kept.room;
}

/// All warps of the block, a row each in turn: those that have kept more than so many.
__device__ __noinline__ void raise_thresholds(const CandidateSearch& search, Rows& rows,
                                              Index first_row, int least) {
  for (int row = static_cast<int>(threadIdx.x) / 32; row < kTile; row += kThreads / 32) {
    if (rows.count[row] > least) {
      raise_threshold(search, rows, row, kept_at(search, first_row + row));
    }
  }
}

/// What a launch of blocks does.
enum class Phase {
  kWhole,   ///< each block samples its items, then walks over them
  kSample,  ///< each block samples its items
  kWalk     ///< each block walks over its items, with the thresholds that stand in the counts
};

/// A warp has a query: its first threshold, from the samples of all shares.
__global__ void __launch_bounds__(kThreads)
    shared_thresholds_kernel(const __grid_constant__ CandidateSearch search) {
  const Offset query = (Offset{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (query >= search.query_count) return;
  const int shares = search.kept.shares;
  const int sampled = search.sampled * kGroups;  // groups of a share
  const auto value_at = [&](int at) {
    return groups_at(search, (query * shares + at / sampled) * search.kept.room)[at % sampled];
  };
  const float reached = reached_by(value_at, shares * sampled, search.k);
  int* const counts = search.kept.counts + query * shares;
  for (int share = static_cast<int>(threadIdx.x) % 32; share < shares; share += 32) {
    counts[share] = as<int>(reached);
  }
}

/// A warp has a query: drops what the k best of all shares together leave behind. Each share has
/// kept what its own k best leave.
__global__ void __launch_bounds__(kThreads)
    shared_drop_kernel(const __grid_constant__ CandidateSearch search) {
  const Offset query = (Offset{blockIdx.x} * kThreads + threadIdx.x) / 32;
  if (query >= search.query_count) return;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int shares = search.kept.shares;
  const int room = search.kept.room;
  KeptPlace* const places = search.kept.places + query * shares * room;
  int* const counts = search.kept.counts + query * shares;
  bool too_many = false;
  for (int share = lane; share < shares; share += 32) too_many = too_many || counts[share] < 0;
  if (__any_sync(0xffffffffU, too_many)) return;
  const auto least_at = [&](int at) {
    return at % room < counts[at / room] ? places[at].least : -CUDART_INF_F;
  };
  const float threshold = reached_by(least_at, shares * room, search.k);
  const QueryNumbers numbers = search.numbers[query];
  const auto stays = [&](const KeptPlace& one) {
    const float margin = fmaf(numbers.slope, search.rest[one.place / kTile].norm, numbers.error);
    return one.least + 2.0F * margin >= threshold;
  };
  for (int share = 0; share < shares; ++share) {
    const int kept = keep_places(places + Offset{share} * room, counts[share], stays);
    __syncwarp();
    if (lane == 0) counts[share] = kept;
  }
}

/// All warps: the first thresholds, from the groups of the sampled tiles. Each of the k largest
/// groups has an estimate of its own that is at least so large.
__device__ __noinline__ void start_thresholds(const CandidateSearch& search, Rows& rows,
                                              Index first_row) {
  for (int row = static_cast<int>(threadIdx.x) / 32; row < kTile; row += kThreads / 32) {
    if (first_row + row >= search.query_count) continue;
    const float* const groups = groups_at(search, kept_at(search, first_row + row));
    const float reached =
        reached_by([&](int at) { return groups[at]; }, search.sampled * kGroups, search.k);
    if (threadIdx.x % 32 == 0) rows.threshold[row] = reached;
  }
}

template <bool kBiased, Phase kPhase>
__global__ void __launch_bounds__(kThreads, kBlocksAtATime)
    candidates_kernel(const __grid_constant__ CandidateSearch search) {
  extern __shared__ __align__(128) unsigned char memory[];
  const std::uint32_t shared = shared_address(memory);
  Rows& rows = *reinterpret_cast<Rows*>(memory + kRowsAt);
  const Index left = static_cast<Index>(blockIdx.x) * kTile;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int own_row = static_cast<int>(threadIdx.x) / 64 * kWarpRows;
  const int own_column = static_cast<int>(threadIdx.x) / 32 % 2 * 64;
  const Index tiles = (search.item_count + kTile - 1) / kTile;
  const auto share = static_cast<Index>(blockIdx.y);
  const Index first_tile = static_cast<Index>(Offset{tiles} * share / search.kept.shares);
  const Index own_tiles =
      static_cast<Index>(Offset{tiles} * (share + 1) / search.kept.shares) - first_tile;
  if (threadIdx.x < kTile) {
    const int row = static_cast<int>(threadIdx.x);
    const QueryNumbers numbers = search.numbers[left + row];
    rows.threshold[row] = left + row < search.query_count ? -CUDART_INF_F : CUDART_INF_F;
    if (kPhase == Phase::kWalk && left + row < search.query_count) {
      const Offset at = Offset{left + row} * search.kept.shares + share;
      rows.threshold[row] = as<float>(search.kept.counts[at]);
    }
    rows.scale[row] = numbers.scale;
    rows.slope[row] = numbers.slope;
    rows.error[row] = numbers.error;
    rows.norm[row] = numbers.norm;
    rows.count[row] = 0;
    if (row < 2) rows.full_at[row] = -1;
  }
  // Step by step: tiles of the sample, then all tiles.
  const Index sampled = kPhase == Phase::kWalk ? 0 : search.sampled;
  const Index turns = sampled + (kPhase == Phase::kSample ? 0 : own_tiles);
  const auto tile_of = [&](Index turn) {
    if (turn >= sampled) return first_tile + turn - sampled;
    return first_tile +
           (search.spread ? static_cast<Index>(Offset{own_tiles} * turn / max(1, sampled)) : turn);
  };
  const auto denied_of = [](int turn) {  // a tile's, two words to a row
    return kStages * 2 * kTileBytes + turn % kStages * kDeniedBytes;
  };
  KeptPlace* const own_places = search.kept.places + kept_at(search, left);
  const int places_of_row = search.kept.shares * search.kept.room;
  const auto stage_of = [&](int step) { return shared + step % kStages * 2 * kTileBytes; };
  const TileCopy copy(search.pitch);
  const __half* const queries = search.queries + Offset{left} * search.pitch;
  int fetched = 0;  // steps: depths of tiles
  Index next_turn = 0;
  Index next_tile = tile_of(0);
  int next_depth = 0;
  const auto fetch = [&] {
    if (next_turn < turns) {
      const std::uint32_t stage = stage_of(fetched);
      copy.run(stage, queries + next_depth, search.pitch);
      copy.run(stage + kTileBytes,
               search.items + (Offset{next_tile} * kTile * search.pitch + next_depth),
               search.pitch);
      if (next_depth == 0 && threadIdx.x < kTile) {
        const Index query = min(left + static_cast<Index>(threadIdx.x), search.query_count - 1);
        copy_16_async(shared + denied_of(next_turn) + threadIdx.x * 16,
                      search.denied + (Offset{query} * search.denied_pitch + next_tile * 2), true);
      }
      next_depth += kDepth;
      if (next_depth == search.pitch) {
        next_depth = 0;
        if (++next_turn < turns) next_tile = tile_of(next_turn);
      }
    }
    ++fetched;
    commit_copies();
  };
  for (int step = 0; step < kStages - 1; ++step) fetch();
  Index next_raise = max(1, 2 * search.sampled);  // of all tiles
  int step = 0;
#pragma unroll 1
  for (Index turn = 0; turn < turns; ++turn) {
    const Index done = turn - sampled;  // tiles
    if (done >= 0) {
      __syncthreads();
      // All threads see the same: what they look at is written a barrier before and behind this.
      const bool full = done > 0 && rows.full_at[(done - 1) % 2] == done - 1;
      if (done == 0 && sampled > 0) {
        start_thresholds(search, rows, left);
      } else if (full || done == next_raise) {
        raise_thresholds(search, rows, left,
                         done == next_raise ? search.k : max(search.k, search.kept.room / 2));
      }
      if (done == next_raise) next_raise *= 2;
      if (done % kCheckEvery == kCheckEvery - 1) {
        __syncthreads();
        // Whoever cannot find more in what follows.
        const int own = static_cast<int>(threadIdx.x) % kTile;
        const RestBound bound = search.rest[first_tile + done];
        float above = rows.norm[own] * bound.norm * 1.0001F;
        if (kBiased) above += rows.scale[own] * bound.bias;
        above += margin_of(rows, own, bound.norm);
        const bool through = above < rows.threshold[own] || left + own >= search.query_count;
        if (__syncthreads_and(through) != 0) break;
      }
    }
    float c[kWarpRows / 16][8][4] = {};
#pragma unroll 1
    for (int depth = 0; depth < search.pitch; depth += kDepth, ++step) {
      wait_for_copies<kStages - 2>();
      __syncthreads();
      fetch();
      const std::uint32_t rows_at = stage_of(step);
      const std::uint32_t columns_at = rows_at + kTileBytes;
#pragma unroll
      for (int k = 0; k < kDepth / 16; ++k) {
        std::uint32_t a[kWarpRows / 16][4];
        std::uint32_t b[4][4];
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) {
          load_unit(a[i], rows_at, own_row + i * 16 + lane % 16, k * 2 + lane / 16);
        }
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          load_unit(b[i], columns_at, own_column + i * 16 + lane % 8 + lane / 16 * 8,
                    k * 2 + lane / 8 % 2);
        }
#pragma unroll
        for (int i = 0; i < kWarpRows / 16; ++i) {
#pragma unroll
          for (int j = 0; j < 8; ++j) {
            mma_half(c[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
          }
        }
      }
    }

    // A tile is complete.
    const Index tile = tile_of(turn);
    const Index first_place = tile * kTile + own_column + lane % 4 * 2;
    const float tile_norm = search.rest[tile].norm;
    float2 bias[8];
    if (kBiased) {
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        bias[j] = *reinterpret_cast<const float2*>(search.bias + first_place + j * 8);
      }
    }
    const auto denied = [&](int row) {  // bits 8 j + e
      const auto* const words =
          reinterpret_cast<const std::uint64_t*>(memory + denied_of(turn) + row * 16);
      return words[own_column / 64] >> (lane % 4 * 2);
    };
#pragma unroll
    for (int h = 0; h < kWarpRows / 8; ++h) {
      const int row = own_row + h * 8 + lane / 4;
      const float margin = margin_of(rows, row, tile_norm);
      const float least = rows.threshold[row] - margin;
      const float scale = kBiased ? rows.scale[row] : 0.0F;
      float best[kGroupsOfOne];
#pragma unroll
      for (int j = 0; j < 8; ++j) {
        float* const two = c[h / 2][j] + h % 2 * 2;
        if (kBiased) {
          two[0] = fmaf(scale, bias[j].x, two[0]);
          two[1] = fmaf(scale, bias[j].y, two[1]);
        }
        const float larger = fmaxf(two[0], two[1]);
        best[j / 2] = j % 2 == 0 ? larger : fmaxf(best[j / 2], larger);
      }
      if (done < 0) {
        if (left + row >= search.query_count) continue;
        const std::uint64_t bits = denied(row);
#pragma unroll
        for (int g = 0; g < kGroupsOfOne; ++g) {
          best[g] = -CUDART_INF_F;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int j = g * 2 + i / 2;
            const bool out = (bits >> (j * 8 + i % 2) & 1U) != 0;
            best[g] = fmaxf(best[g], out ? -CUDART_INF_F : c[h / 2][j][h % 2 * 2 + i % 2] - margin);
          }
        }
        const int group = (own_column / 64 * 4 + lane % 4) * kGroupsOfOne;
        float* const to = &own_places[row * places_of_row].least + turn * kGroups;
        *reinterpret_cast<float4*>(to + group) = make_float4(best[0], best[1], best[2], best[3]);
      } else if (fmaxf(fmaxf(best[0], best[1]), fmaxf(best[2], best[3])) >= least) {
        KeptPlace* const places = own_places + row * places_of_row;
        const std::uint64_t bits = denied(row);
#pragma unroll
        for (int g = 0; g < kGroupsOfOne; ++g) {
          if (!(best[g] >= least)) continue;
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            const int j = g * 2 + i / 2;
            const float estimate = c[h / 2][j][h % 2 * 2 + i % 2];
            if (!(estimate >= least) || (bits >> (j * 8 + i % 2) & 1U) != 0) continue;
            const int to = atomicAdd(&rows.count[row], 1);
            places[to] = {estimate - margin,
                          first_place + j * 8 + i % 2};  // there is always room for a tile
            if (to + 1 + kTile > search.kept.room) rows.full_at[done % 2] = done;
          }
        }
      }
    }
  }
  wait_for_copies<0>();
  if (kPhase == Phase::kSample) return;
  __syncthreads();
  raise_thresholds(search, rows, left, search.k);
  __syncthreads();
  const Index own = left + static_cast<Index>(threadIdx.x);
  if (threadIdx.x < kTile && own < search.query_count) {
    search.kept.counts[Offset{own} * search.kept.shares + share] = rows.count[threadIdx.x];
  }
}

}  // namespace

int room_for(int k) {
  int room = kLeastRoom;
  while (room < 2 * k + 2 * kTile) room *= 2;
  return room;
}

Index queries_at_a_time() { return kBlocksAtATime * multiprocessor_count() * kTile; }

int shares_for(Index queries, Index items) {
  const Index blocks = (queries + kTile - 1) / kTile;
  const Index tiles = (items + kTile - 1) / kTile;
  const Index wanted = queries_at_a_time() / kTile / std::max<Index>(1, blocks);
  return std::clamp<Index>(wanted, 1, std::max<Index>(1, tiles / kLeastTiles));
}

int sampled_tiles(int k, int room, int shares, Index items) {
  const Index tiles = (items + kTile - 1) / kTile;
  const Index most = std::min<Index>(tiles / shares / kTilesOfSample, 2 * room / kGroups);
  const Index wanted = std::clamp<Index>(4 * k / kGroups, 1, std::max<Index>(1, most));
  return wanted <= most && wanted * kGroups > k ? static_cast<int>(wanted) : 0;
}

namespace {

template <Phase kPhase>
void launch(const CandidateSearch& search, cudaStream_t stream) {
  const auto kernel =
      search.bias == nullptr ? candidates_kernel<false, kPhase> : candidates_kernel<true, kPhase>;
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kShared));
  const dim3 grid(static_cast<unsigned>((search.query_count + kTile - 1) / kTile),
                  static_cast<unsigned>(search.kept.shares));
  kernel<<<grid, kThreads, kShared, stream>>>(search);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace

void find_candidates(const CandidateSearch& search, cudaStream_t stream) {
  if (search.kept.shares == 1 || search.sampled == 0) return launch<Phase::kWhole>(search, stream);
  const Offset threads = Offset{search.query_count} * 32;
  const auto blocks = static_cast<unsigned>((threads + kThreads - 1) / kThreads);
  launch<Phase::kSample>(search, stream);
  shared_thresholds_kernel<<<blocks, kThreads, 0, stream>>>(search);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  launch<Phase::kWalk>(search, stream);
  shared_drop_kernel<<<blocks, kThreads, 0, stream>>>(search);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
