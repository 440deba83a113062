// SPDX-License-Identifier: Apache-2.0
/// A block has one system at a time. With C the candidates of item j and cosines c = d (S + L) d,
///
///     c_CC y = c_Cj,   B_ij = n_i^(-s) d_i y_i n_j^s / d_j        (math.md, "Local")
///
/// c_CC lies in lower tiles of 16 x 16 in shared memory; where they are too many for it, in spare
/// memory of the block. Cholesky's factor L takes its place, from tile column to tile column:
///
///     L_ij = A_ij W_jj',   z_j = W_jj z_j,   A_ik -= L_ij L_kj',   z_i -= L_ij z_j       i >= k >
///     j
///
/// with W_jj = L_jj^-1, made by one warp in registers and kept in the place of L_jj. Then y from
/// the last tile to the first: y_j = W_jj' z_j,  z_c -= L_jc' y_j  for c < j.
#include <algorithm>
#include <cstdint>

#include "algorithms/ease/ease_scales.h"
#include "backends/cuda/device/candidate_keys.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/ease/local_systems.h"
#include "core/host_device.h"

namespace likewise::cuda {
namespace {

constexpr int kLocalThreads = 512;
constexpr int kLocalWarps = kLocalThreads / 32;
constexpr int kTile = 16;
constexpr int kPitch = 20;  // 16-byte loads of eight rows hit all banks once
constexpr int kTileNumbers = kTile * kPitch;
constexpr Offset kMostSpare = Offset{1} << 28;  // numbers
constexpr float kLeast = static_cast<float>(kLeastPivot);

[[nodiscard]] LIKEWISE_HOST_DEVICE constexpr Offset tile_count(Offset rows_of_tiles) {
  return rows_of_tiles * (rows_of_tiles + 1) / 2;
}

/// A system in the memory of a block.
struct System {
  float* tiles;  ///< lower ones, row by row
  float* z;      ///< right side, then the solution
  int count;     ///< tile rows

  [[nodiscard]] __device__ __forceinline__ float* tile(int i, int j) const {
    return tiles + (i * (i + 1) / 2 + j) * kTileNumbers;
  }
};

/// Row and column of number `task` among lower tiles of a triangle.
__device__ __forceinline__ int2 lower_pair(int task) {
  int row = 0;
  while (task > row) task -= ++row;
  return {row, task};
}

[[nodiscard]] __device__ __forceinline__ int lane_id() {
  return static_cast<int>(threadIdx.x) % 32;
}
[[nodiscard]] __device__ __forceinline__ int warp_id() {
  return static_cast<int>(threadIdx.x) / 32;
}

/// A tile times a transposed one, by a warp: a lane has rows r, r + 8 and columns c, c + 4, ...
struct TileProduct {
  float sum[2][4] = {};

  /// += A B' over the 16 columns of both.
  __device__ __forceinline__ void add(const float* a, const float* b, int lane) {
    const float* const rows = a + lane / 4 * kPitch;
    const float* const columns = b + lane % 4 * kPitch;
#pragma unroll
    for (int k = 0; k < kTile; k += 4) {
      const float4 x[2] = {load(rows + k), load(rows + 8 * kPitch + k)};
#pragma unroll
      for (int c = 0; c < 4; ++c) {
        const float4 y = load(columns + 4 * c * kPitch + k);
#pragma unroll
        for (int r = 0; r < 2; ++r) {
          sum[r][c] += x[r].x * y.x;
          sum[r][c] += x[r].y * y.y;
          sum[r][c] += x[r].z * y.z;
          sum[r][c] += x[r].w * y.w;
        }
      }
    }
  }
  /// visit(number of the tile, sum)
  template <class Visit>
  __device__ __forceinline__ void each(float* tile, int lane, const Visit& visit) const {
    float* const to = tile + lane / 4 * kPitch + lane % 4;
#pragma unroll
    for (int r = 0; r < 2; ++r) {
#pragma unroll
      for (int c = 0; c < 4; ++c) visit(to[8 * r * kPitch + 4 * c], sum[r][c]);
    }
  }

 private:
  [[nodiscard]] static __device__ __forceinline__ float4 load(const float* at) {
    return *reinterpret_cast<const float4*>(at);
  }
};

/// c_ij of two items; i before j.
[[nodiscard]] __device__ __forceinline__ float cosine(const LocalSystems& systems, Index i,
                                                      Index j) {
  return __ldg(systems.cosines + Offset{i} * systems.order + j);
}

/// The system of an item, with rows and columns of the identity behind its candidates. Lanes go
/// along a row of the table of cosines.
__device__ void gather(const LocalSystems& systems, Index item, const Index* candidates, int n,
                       const System& system) {
  const int row_in = lane_id() % kTile;
  for (int task = warp_id(); task < static_cast<int>(tile_count(system.count));
       task += kLocalWarps) {
    const int2 at = lower_pair(task);
    const int row = at.x * kTile + row_in;
    float* const to = system.tiles + task * kTileNumbers + row_in * kPitch;
    for (int c = lane_id() / kTile; c < kTile; c += 2) {
      const int column = at.y * kTile + c;
      float value = row == column ? 1.0F : 0.0F;
      if (row < n && column <= row) value = cosine(systems, candidates[column], candidates[row]);
      to[c] = value;
    }
  }
  for (int p = static_cast<int>(threadIdx.x); p < system.count * kTile; p += kLocalThreads) {
    const Index i = p < n ? candidates[p] : item;
    system.z[p] = p < n ? cosine(systems, min(i, item), max(i, item)) : 0.0F;
  }
}

/// One warp: W = L^-1 of tile (j, j), in place. Lanes 0-15 hold the rows of the tile, lanes 16-31
/// the columns of the identity beside it; both take the same steps. Notes the first pivot that is
/// rounding.
__device__ __forceinline__ void invert_tile(float* tile, int first, Index* singular) {
  const int lane = lane_id();
  float x[kTile];
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    x[k] = lane < kTile ? tile[lane * kPitch + k] : (k == lane - kTile ? 1.0F : 0.0F);
  }
#pragma unroll
  for (int j = 0; j < kTile; ++j) {
    float pivot = __shfl_sync(0xFFFFFFFFU, x[j], j);
    if (!(pivot > kLeast && isfinite(pivot))) {
      if (lane == 0 && *singular < 0) *singular = first + j;
      pivot = 1.0F;
    }
    x[j] *= 1.0F / sqrtf(pivot);
#pragma unroll
    for (int k = j + 1; k < kTile; ++k) x[k] -= x[j] * __shfl_sync(0xFFFFFFFFU, x[j], k);
  }
  __syncwarp();
  if (lane >= kTile) {
#pragma unroll
    for (int k = 0; k < kTile; ++k) tile[k * kPitch + lane - kTile] = x[k];
  }
}

/// Tile column j: L below W, and z_j.
__device__ __forceinline__ void scale_column(const System& system, int j) {
  const float* const w = system.tile(j, j);
  for (int i = j + 1 + warp_id(); i < system.count; i += kLocalWarps) {
    TileProduct product;
    float* const tile = system.tile(i, j);
    product.add(tile, w, lane_id());
    __syncwarp();
    product.each(tile, lane_id(), [](float& to, float sum) { to = sum; });
  }
  if (warp_id() != kLocalWarps - 1) return;
  float* const z = system.z + j * kTile;
  float sum = 0.0F;
  for (int c = 0; c <= lane_id() && lane_id() < kTile; ++c) sum += w[lane_id() * kPitch + c] * z[c];
  __syncwarp();
  if (lane_id() < kTile) z[lane_id()] = sum;
}

/// What is left of the system after tile column j.
__device__ __forceinline__ void eliminate(const System& system, int j) {
  const int below = system.count - 1 - j;
  for (int task = warp_id(); task < static_cast<int>(tile_count(below)); task += kLocalWarps) {
    const int2 at = lower_pair(task);
    const int i = j + 1 + at.x;
    const int k = j + 1 + at.y;
    TileProduct product;
    product.add(system.tile(i, j), system.tile(k, j), lane_id());
    product.each(system.tile(i, k), lane_id(), [](float& to, float sum) { to -= sum; });
  }
  for (int p = static_cast<int>(threadIdx.x); p < below * kTile; p += kLocalThreads) {
    const int row = (j + 1) * kTile + p;
    const float* const from = system.tile(row / kTile, j) + row % kTile * kPitch;
    float sum = 0.0F;
    for (int c = 0; c < kTile; ++c) sum += from[c] * system.z[j * kTile + c];
    system.z[row] -= sum;
  }
}

/// z becomes L'^-1 z.
__device__ void solve_transposed(const System& system) {
  for (int j = system.count - 1; j >= 0; --j) {
    float* const z = system.z + j * kTile;
    if (warp_id() == 0) {
      const float* const w = system.tile(j, j);
      float sum = 0.0F;
      for (int c = lane_id(); c < kTile; ++c) sum += w[c * kPitch + lane_id()] * z[c];
      __syncwarp();
      if (lane_id() < kTile) z[lane_id()] = sum;
    }
    __syncthreads();
    for (int p = static_cast<int>(threadIdx.x); p < j * kTile; p += kLocalThreads) {
      const float* const from = system.tile(j, p / kTile) + p % kTile;
      float sum = 0.0F;
      for (int r = 0; r < kTile; ++r) sum += from[r * kPitch] * z[r];
      system.z[p] -= sum;
    }
    __syncthreads();
  }
}

/// All threads; `singular` is shared.
__device__ void solve(const System& system, Index* singular) {
  for (int j = 0; j < system.count; ++j) {
    if (warp_id() == 0) invert_tile(system.tile(j, j), j * kTile, singular);
    __syncthreads();
    scale_column(system, j);
    __syncthreads();
    eliminate(system, j);
    __syncthreads();
  }
  solve_transposed(system);
}

/// The list of an item from its solution.
__device__ void list_weights(const LocalSystems& systems, Index item, const Index* candidates,
                             int n, const float* solution, std::uint64_t* keys) {
  int size = 2;
  while (size < n) size *= 2;
  const double own = systems.of_row[item] * systems.shrinks[item];
  const double of_column = own > 0.0 ? 1.0 / own : 0.0;
  for (int p = static_cast<int>(threadIdx.x); p < size; p += kLocalThreads) {
    std::uint64_t key = 0;
    if (p < n) {
      const Index i = candidates[p];
      const double of_row = systems.of_row[i] * systems.shrinks[i];
      const auto weight = static_cast<float>(of_row * static_cast<double>(solution[p]) * of_column);
      if (weight != 0.0F) key = key_of(weight, i);
    }
    keys[p] = key;
  }
  if (threadIdx.x == 0) systems.counts[item] = 0;
  __syncthreads();
  sort_keys<kLocalThreads>(keys, size);
  for (int p = static_cast<int>(threadIdx.x); p < n && keys[p] != 0; p += kLocalThreads) {
    const Candidate one = candidate_of(keys[p]);
    systems.listed[systems.offsets[item] + p] = one.item;
    systems.weights[systems.offsets[item] + p] = one.score;
    if (p + 1 == n || keys[p + 1] == 0) systems.counts[item] = p + 1;
  }
}

/// Shared memory: keys, then the right side, then the tiles where they fit.
__global__ void __launch_bounds__(kLocalThreads, 1)
    local_kernel(const LocalSystems systems, const LocalRoom room, Index first, Index end,
                 float* spare) {
  extern __shared__ __align__(16) unsigned char memory[];
  __shared__ Index singular;
  auto* const keys = reinterpret_cast<std::uint64_t*>(memory);
  auto* const z = reinterpret_cast<float*>(keys + room.keys);
  float* const tiles =
      room.spare == 0 ? z + room.tiles * kTile : spare + Offset{blockIdx.x} * room.spare;
  for (Index item = first + static_cast<Index>(blockIdx.x); item < end;
       item += static_cast<Index>(gridDim.x)) {
    const Offset begin = systems.offsets[item];
    const auto n = static_cast<int>(systems.offsets[item + 1] - begin);
    const Index* const candidates = systems.candidates + begin;
    const System system{tiles, z, (n + kTile - 1) / kTile};
    if (threadIdx.x == 0) singular = -1;
    gather(systems, item, candidates, n, system);
    __syncthreads();
    solve(system, &singular);
    list_weights(systems, item, candidates, n, z, keys);
    if (threadIdx.x == 0) systems.singular[item] = singular;
    __syncthreads();
  }
}

}  // namespace

LocalRoom local_room(Index candidates, int most_shared, int multiprocessors) {
  constexpr int kNumber = sizeof(float);
  LocalRoom room;
  room.tiles = (std::max<Index>(1, candidates) + kTile - 1) / kTile;
  room.keys = 2;
  while (room.keys < candidates) room.keys *= 2;
  room.shared = room.keys * static_cast<int>(sizeof(std::uint64_t)) + room.tiles * kTile * kNumber;
  const Offset tiles = tile_count(room.tiles) * kTileNumbers;
  constexpr Offset kOurs = 64;  // what the kernel shares besides
  if (room.shared + tiles * kNumber + kOurs <= most_shared) {
    room.shared += static_cast<int>(tiles) * kNumber;
    room.blocks = static_cast<unsigned>(multiprocessors) * 16;  // the next waits for its turn
    return room;
  }
  room.spare = tiles;
  room.blocks = static_cast<unsigned>(std::clamp<Offset>(kMostSpare / tiles, 1, multiprocessors));
  return room;
}

void solve_local_systems(const LocalSystems& systems, const LocalRoom& room, Index first, Index end,
                         float* spare, cudaStream_t stream) {
  if (first >= end) return;
  allow_shared_memory(local_kernel, room.shared);
  const unsigned blocks = std::min(room.blocks, static_cast<unsigned>(end - first));
  local_kernel<<<blocks, kLocalThreads, static_cast<std::size_t>(room.shared), stream>>>(
      systems, room, first, end, spare);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
