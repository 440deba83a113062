// SPDX-License-Identifier: Apache-2.0
/// Cholesky factors (cholesky.h).
///
/// For A = L L^T one elimination of [A | I] leaves [L^T | L^-1]. It runs by tiles of 16 x 16 in one
/// array: where column j of A is used up, column j of the right side grows. At tile column j, with
/// W_jj = L_jj^-1 (one warp, from registers):
///
///     L_ij = A_ij W_jj^T,   W_jc = W_jj R_jc               i > j > c
///     A_ik -= L_ij L_kj^T,  R_ic -= L_ij W_jc,  R_ij = -L_ij W_jj
///
/// A panel of at most 128 columns lies in the shared memory of one block. Wider matrices do the
/// same with panels in the place of tiles; there W_jc = W_jj R_jc waits for the end.
#include <algorithm>

#include "backends/cuda/device/double_product.cuh"
#include "backends/cuda/linalg/cholesky.h"

namespace likewise::cuda {
namespace {

constexpr int kPanelThreads = 512;
constexpr int kPitch = 20;  // of a tile in shared memory: operands without bank conflicts
constexpr int kWarps = 8;   // of the kernels that spread tiles over the GPU
constexpr int kCholeskyThreads = kWarps * 32;

/// Lower tiles of a panel in shared memory.
struct Tiles {
  double* first;
  [[nodiscard]] __device__ __forceinline__ double* at(int i, int j) const {
    return first + (i * (i + 1) / 2 + j) * (kTile * kPitch);
  }
};

constexpr int tiles_bytes(int tiles) {
  return tiles * (tiles + 1) / 2 * kTile * kPitch * static_cast<int>(sizeof(double));
}

/// Row i of the lower triangle without its diagonal, or with it, from a running number.
__device__ __forceinline__ int2 lower_pair(int number) {
  int row = 0;
  while (number > row) number -= ++row;
  return {row, number};
}

/// One warp: W = L^-1 of a tile, in place. Lanes 0-15 hold the rows of the tile, lanes 16-31 the
/// columns of the identity beside it; both take the same steps. Leaves L's rows in x of the first.
/// Pivots below `least` are raised to it, or noted in *status.
template <bool kRaise>
__device__ __forceinline__ void invert_tile(double* tile, double least, int first, int* status,
                                            double (&x)[kTile], int lane) {
#pragma unroll
  for (int k = 0; k < kTile; ++k) {
    x[k] = lane < kTile ? tile[lane * kPitch + k] : (k == lane - kTile ? 1.0 : 0.0);
  }
#pragma unroll
  for (int j = 0; j < kTile; ++j) {
    double pivot = __shfl_sync(0xFFFFFFFFU, x[j], j);
    if (kRaise && pivot < least) pivot = least;
    if (!(pivot >= least && isfinite(pivot))) {
      if (lane == 0 && *status == 0) *status = first + j + 1;
      pivot = 1.0;
    }
    x[j] *= rsqrt(pivot);
#pragma unroll
    for (int k = j + 1; k < kTile; ++k) x[k] -= x[j] * __shfl_sync(0xFFFFFFFFU, x[j], k);
  }
  __syncwarp();
  if (lane >= kTile) {
#pragma unroll
    for (int k = 0; k < kTile; ++k) tile[k * kPitch + lane - kTile] = x[k];
  }
}

/// L_jj^T straight to the matrix.
__device__ __forceinline__ void store_transposed(double* to, int padded, const double (&x)[kTile],
                                                 int lane) {
  if (lane >= kTile) return;
#pragma unroll
  for (int k = 0; k < kTile; ++k) to[k * padded + lane] = k <= lane ? x[k] : 0.0;
}

/// Tile column j of the panel: L below it, W left of it.
template <bool kInverse>
__device__ __forceinline__ void scale_column(const Tiles& tiles, int count, int j, int warp,
                                             int lane) {
  const int below = count - 1 - j;
  for (int task = warp; task < below + (kInverse ? j : 0); task += kPanelThreads / 32) {
    DoubleTile product;
    double* tile;
    if (task < below) {
      tile = tiles.at(j + 1 + task, j);
      product.add<true>(tile, kPitch, tiles.at(j, j), kPitch, kTile, lane);
    } else {
      tile = tiles.at(j, task - below);
      product.add<false>(tiles.at(j, j), kPitch, tile, kPitch, kTile, lane);
    }
    __syncwarp();
    product.store(tile, kPitch, 1.0, lane);
  }
}

/// The rest of the panel after tile column j, except for R_ij.
template <bool kInverse>
__device__ __forceinline__ void eliminate(const Tiles& tiles, int count, int j, int warp,
                                          int lane) {
  const int below = count - 1 - j;
  const int lower = below * (below + 1) / 2;
  for (int task = warp; task < lower + (kInverse ? below * j : 0); task += kPanelThreads / 32) {
    DoubleTile product;
    if (task < lower) {
      const int2 at = lower_pair(task);
      const int i = j + 1 + at.x;
      const int k = j + 1 + at.y;
      product.add<true>(tiles.at(i, j), kPitch, tiles.at(k, j), kPitch, kTile, lane);
      product.add_to(tiles.at(i, k), kPitch, -1.0, lane);
    } else {
      const int i = j + 1 + (task - lower) / j;
      const int c = (task - lower) % j;
      product.add<false>(tiles.at(i, j), kPitch, tiles.at(j, c), kPitch, kTile, lane);
      product.add_to(tiles.at(i, c), kPitch, -1.0, lane);
    }
  }
}

/// R_ij = -L_ij W_jj for the column before the one whose tile warp 0 inverts meanwhile.
__device__ __forceinline__ void start_right_side(const Tiles& tiles, int count, int j, int warp,
                                                 int lane) {
  for (int i = j + warp; i < count; i += kPanelThreads / 32 - 1) {
    DoubleTile product;
    double* tile = tiles.at(i, j - 1);
    product.add<false>(tile, kPitch, tiles.at(j - 1, j - 1), kPitch, kTile, lane);
    __syncwarp();
    product.store(tile, kPitch, -1.0, lane);
  }
}

/// Copies between the matrix and the lower tiles, 16 bytes a lane.
template <class Copy>
__device__ __forceinline__ void for_lower_tiles(int count, int warp, int lane, Copy copy) {
  for (int task = warp; task < count * (count + 1) / 2; task += kPanelThreads / 32) {
    const int2 at = lower_pair(task);
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      copy(at.x, at.y, (lane + 32 * part) / 8, (lane + 32 * part) % 8 * 2);
    }
  }
}

/// One block: the diagonal block of `size` rows at `first` becomes its L^-1, or its L^T.
template <bool kInverse>
__global__ void __launch_bounds__(kPanelThreads)
    factor_panel(double* matrix, int padded, int first, int size, double least, int* status,
                 const int* wanted) {
  if (wanted != nullptr && *wanted == 0) return;
  extern __shared__ double2 shared[];
  const Tiles tiles{reinterpret_cast<double*>(shared)};
  const int count = size / kTile;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) / 32;
  double* corner = matrix + first * padded + first;
  for_lower_tiles(count, warp, lane, [&](int i, int j, int row, int column) {
    *reinterpret_cast<double2*>(tiles.at(i, j) + row * kPitch + column) =
        *reinterpret_cast<const double2*>(corner + (i * kTile + row) * padded + j * kTile + column);
  });
  __syncthreads();

  for (int j = 0; j < count; ++j) {
    if (warp == 0) {
      double x[kTile];
      invert_tile<!kInverse>(tiles.at(j, j), least, first + j * kTile, status, x, lane);
      if (!kInverse) store_transposed(corner + j * kTile * (padded + 1), padded, x, lane);
    } else if (kInverse && j > 0) {
      start_right_side(tiles, count, j, warp - 1, lane);
    }
    __syncthreads();
    scale_column<kInverse>(tiles, count, j, warp, lane);
    __syncthreads();
    eliminate<kInverse>(tiles, count, j, warp, lane);
    __syncthreads();
  }

  for_lower_tiles(count, warp, lane, [&](int i, int j, int row, int column) {
    if (!kInverse && i == j) return;
    double* below = corner + (i * kTile + row) * padded + j * kTile + column;
    const double* tile = tiles.at(i, j);
    if (kInverse) {
      *reinterpret_cast<double2*>(below) =
          *reinterpret_cast<const double2*>(tile + row * kPitch + column);
      return;
    }
    *reinterpret_cast<double2*>(below) = {0.0, 0.0};
    double* above = corner + (j * kTile + row) * padded + i * kTile + column;
    *reinterpret_cast<double2*>(above) = {tile[column * kPitch + row],
                                          tile[(column + 1) * kPitch + row]};
  });
}

/// A warp's tile of a kernel that spreads the tile rows over blockIdx.y and eight neighbouring tile
/// columns over a block.
__device__ __forceinline__ int2 own_tile(int first_row) {
  return {first_row + static_cast<int>(blockIdx.y),
          static_cast<int>(blockIdx.x * kWarps + threadIdx.x / 32)};
}

/// panel = L below the diagonal block: A W^T.
__global__ void __launch_bounds__(kCholeskyThreads)
    scale_panel(const double* matrix, int padded, int first, int size, double* panel) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int2 tile = own_tile((first + size) / kTile);
  if (tile.y * kTile >= size) return;
  DoubleTile product;
  // W is lower: row n of it ends at column n.
  product.add<true>(matrix + tile.x * kTile * padded + first, padded,
                    matrix + (first + tile.y * kTile) * padded + first, padded,
                    (tile.y + 1) * kTile, lane);
  product.store(panel + tile.x * kTile * kPanel + tile.y * kTile, kPanel, 1.0, lane);
}

/// The column of the right side below the diagonal block: -L W.
__global__ void __launch_bounds__(kCholeskyThreads)
    start_panel(double* matrix, int padded, int first, int size, const double* panel) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int2 tile = own_tile((first + size) / kTile);
  if (tile.y * kTile >= size) return;
  DoubleTile product;
  const int from = tile.y * kTile;
  product.add<false>(panel + tile.x * kTile * kPanel + from, kPanel,
                     matrix + (first + from) * padded + first + from, padded, size - from, lane);
  product.store(matrix + tile.x * kTile * padded + first + from, padded, -1.0, lane);
}

/// The rest of the matrix: A -= L L^T to the right of the panel, R += (-L W) R to its left.
__global__ void __launch_bounds__(kCholeskyThreads)
    eliminate_panel(double* matrix, int padded, int first, int size, const double* panel) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int2 tile = own_tile((first + size) / kTile);
  const int row = tile.x * kTile;
  const int column = tile.y * kTile;
  if (column > row || (column >= first && column < first + size)) return;
  DoubleTile product;
  if (column > first) {
    product.add<true>(panel + row * kPanel, kPanel, panel + column * kPanel, kPanel, size, lane);
  } else {
    product.add<false>(matrix + row * padded + first, padded, matrix + first * padded + column,
                       padded, size, lane);
  }
  product.add_to(matrix + row * padded + column, padded, column > first ? -1.0 : 1.0, lane);
}

__global__ void __launch_bounds__(kCholeskyThreads)
    fill_matrix(const double* __restrict__ gram, int width, int padded, double weight,
                double lambda, double* __restrict__ matrix) {
  const int at = static_cast<int>(blockIdx.x * kCholeskyThreads + threadIdx.x);
  if (at >= padded * padded) return;
  const int i = at / padded;
  const int j = at % padded;
  const bool inside = i < width && j < width;
  matrix[at] = (inside ? weight * gram[at] : 0.0) + (i == j ? (inside ? lambda : 1.0) : 0.0);
}

/// L^-1 in float32, both ways round.
__global__ void __launch_bounds__(kCholeskyThreads)
    finish(const double* matrix, int padded, CholeskyResults results) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int2 tile = own_tile(0);
  const int row = tile.x * kTile;
  const int column = tile.y * kTile;
  if (column >= padded) return;
  const int first = row / kPanel * kPanel;
  DoubleTile result;
  if (column < first) {
    result.add<false>(matrix + row * padded + first, padded, matrix + first * padded + column,
                      padded, row + kTile - first, lane);
  } else if (column <= row) {
    result.each(lane, [&](int r, int c, double& x, double& y) {
      const double* from = matrix + (row + r) * padded + column + c;
      x = from[0];
      y = from[1];
    });
  }
  result.each(lane, [&](int r, int c, double x, double y) {
    const float2 rounded = {static_cast<float>(x), static_cast<float>(y)};
    *reinterpret_cast<float2*>(results.inverse + (row + r) * padded + column + c) = rounded;
    results.transposed[(column + c) * padded + row + r] = rounded.x;
    results.transposed[(column + c + 1) * padded + row + r] = rounded.y;
  });
  if (column == 0 && lane < kTile) {
    results.base[row + lane] = 1.0F;
    results.shrink[row + lane] = 0.0F;
  }
}

template <bool kInverse>
void launch_panel(double* matrix, int padded, int first, double least, int* status,
                  const int* wanted, cudaStream_t stream) {
  const int size = std::min(kPanel, padded - first);
  const auto kernel = factor_panel<kInverse>;
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                           tiles_bytes(kPanel / kTile)));
  kernel<<<1, kPanelThreads, tiles_bytes(size / kTile), stream>>>(matrix, padded, first, size,
                                                                  least, status, wanted);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

dim3 tile_grid(int rows, int columns) {
  return {static_cast<unsigned>((columns / kTile + kWarps - 1) / kWarps),
          static_cast<unsigned>(rows / kTile)};
}

}  // namespace

void regularize(const double* gram, int width, int padded, double weight, double lambda,
                double* matrix, cudaStream_t stream) {
  const int blocks = (padded * padded + kCholeskyThreads - 1) / kCholeskyThreads;
  fill_matrix<<<static_cast<unsigned>(blocks), kCholeskyThreads, 0, stream>>>(
      gram, width, padded, weight, lambda, matrix);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void invert_cholesky(double* matrix, int padded, double least, double* panel,
                     const CholeskyResults& results, int* status, cudaStream_t stream) {
  for (int first = 0; first < padded; first += kPanel) {
    launch_panel<true>(matrix, padded, first, least, status, nullptr, stream);
    const int below = padded - first - kPanel;
    if (below <= 0) break;
    const dim3 along = tile_grid(below, kPanel);
    scale_panel<<<along, kCholeskyThreads, 0, stream>>>(matrix, padded, first, kPanel, panel);
    start_panel<<<along, kCholeskyThreads, 0, stream>>>(matrix, padded, first, kPanel, panel);
    eliminate_panel<<<tile_grid(below, padded), kCholeskyThreads, 0, stream>>>(
        matrix, padded, first, kPanel, panel);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  }
  finish<<<tile_grid(padded, padded), kCholeskyThreads, 0, stream>>>(matrix, padded, results);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void factor_cholesky(double* matrix, int padded, double least, int* status, const int* wanted,
                     cudaStream_t stream) {
  launch_panel<false>(matrix, padded, 0, least, status, wanted, stream);
}

}  // namespace likewise::cuda
