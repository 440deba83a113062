// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <math_constants.h>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/half_matrices.cuh"
#include "backends/cuda/device/split_float.cuh"
#include "backends/cuda/device/warp.cuh"
#include "backends/cuda/knn/knn_dense.h"

namespace likewise::cuda {
namespace {

constexpr int kTile = DenseRows::kStep;  // rows and columns of a block's product
constexpr int kDepth = 64;               // of one stage
constexpr int kProductStages = 3;
constexpr int kProductThreads = 128;
constexpr int kTileBytes = kTile * kDepth * 2;
constexpr int kProductShared = kProductStages * 2 * kTileBytes;
constexpr int kProductBlocks = 2;  // of a multiprocessor
constexpr int kLeastSteps = 8;     // of depth kDepth, that are worth a block

[[nodiscard]] constexpr Index padded(Index count) {
  return (count + DenseRows::kStep - 1) / DenseRows::kStep * DenseRows::kStep;
}

/// A warp a row. The largest |weight| becomes 2^7 .. 2^8: far from both ends of float16.
__global__ void fill_kernel(const Offset* offsets, const Index* columns, const float* weights,
                            Index rows, Index pitch, __half* halves, float* dense, float* inverse) {
  const int lane = threadIdx.x % 32;
  const Index row = static_cast<Index>((Offset{blockIdx.x} * blockDim.x + threadIdx.x) / 32);
  if (row >= rows) return;
  std::uint32_t largest = 0;
  double squares = 0.0;
  for (Offset e = offsets[row] + lane; e < offsets[row + 1]; e += 32) {
    largest = max(largest, magnitude_bits(weights[e]));
    squares += static_cast<double>(weights[e]) * static_cast<double>(weights[e]);
  }
  largest = __reduce_max_sync(0xffffffffU, largest);
  squares = warp_sum(squares);
  const int exponent = largest == 0 ? 0 : 7 - ilogbf(as<float>(largest));
  for (Offset e = offsets[row] + lane; e < offsets[row + 1]; e += 32) {
    const Offset at = Offset{row} * pitch + columns[e];
    halves[at] = __float2half_rn(ldexpf(weights[e], exponent));
    dense[at] = weights[e];
  }
  if (lane == 0) {
    inverse[row] =
        squares > 0.0 ? static_cast<float>(ldexp(1.0 / sqrt(squares), -exponent)) : CUDART_NAN_F;
  }
}

/// Rows `first`.. of 128 to shared memory, depths `depth` .. of 64. 16-byte units are turned by the
/// row, so that eight rows of a matrix lie in different banks.
__device__ __forceinline__ void copy_tile(std::uint32_t to, const __half* table, Index pitch,
                                          Index first, int depth) {
#pragma unroll
  for (int i = 0; i < kTile * 8 / kProductThreads; ++i) {
    const int unit = static_cast<int>(threadIdx.x) + i * kProductThreads;
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

/// out[x - first][y] = cosine of rows x and y. A block owns 128 x 128 of them, a warp 64 x 64 in
/// registers: 32 products for 8 loads of operands. Where all rows are asked for at once, only the
/// tiles on one side of the diagonal are computed, and written to both. Where tiles are few,
/// gridDim.z blocks share the depth of one, and add to zeros what they have.
__global__ void __launch_bounds__(kProductThreads, kProductBlocks)
    product_kernel(const __half* table, Index pitch, const float* inverse, Index first,
                   Index out_pitch, bool mirrored, float* out) {
  extern __shared__ __align__(128) unsigned char memory[];
  if (mirrored && blockIdx.x < blockIdx.y) return;
  const std::uint32_t shared = shared_address(memory);
  const Index left = first + static_cast<Index>(blockIdx.y) * kTile;
  const Index right = static_cast<Index>(blockIdx.x) * kTile;
  const int lane = threadIdx.x % 32;
  const int own_row = static_cast<int>(threadIdx.x) / 64 * 64;
  const int own_column = static_cast<int>(threadIdx.x) / 32 % 2 * 64;
  const int all_steps = pitch / kDepth;
  const int part = static_cast<int>(blockIdx.z);
  const int parts = static_cast<int>(gridDim.z);
  const int begin = all_steps * part / parts;
  const int steps = all_steps * (part + 1) / parts;
  const auto fetch = [&](int step) {
    if (step < steps) {
      const std::uint32_t stage = shared + step % kProductStages * 2 * kTileBytes;
      copy_tile(stage, table, pitch, left, step * kDepth);
      copy_tile(stage + kTileBytes, table, pitch, right, step * kDepth);
    }
    commit_copies();
  };
  float c[4][8][4] = {};
  for (int step = begin; step < begin + kProductStages - 1; ++step) fetch(step);
  for (int step = begin; step < steps; ++step) {
    wait_for_copies<kProductStages - 2>();
    __syncthreads();
    fetch(step + kProductStages - 1);
    const std::uint32_t rows_at = shared + step % kProductStages * 2 * kTileBytes;
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
  }
  const Index y0 = right + own_column + lane % 4 * 2;
  float2 scale[8];
#pragma unroll
  for (int j = 0; j < 8; ++j) scale[j] = *reinterpret_cast<const float2*>(inverse + y0 + j * 8);
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    const Index x = left + own_row + i * 8 + lane / 4;
    const float own_scale = inverse[x];
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      const Index y = y0 + j * 8;
      const float2 cosines{c[i / 2][j][i % 2 * 2] * own_scale * scale[j].x,
                           c[i / 2][j][i % 2 * 2 + 1] * own_scale * scale[j].y};
      float* const at = out + Offset{x - first} * out_pitch + y;
      float* const mirror = mirrored && left != right ? out + Offset{y} * out_pitch + x : nullptr;
      if (parts == 1) {
        *reinterpret_cast<float2*>(at) = cosines;
        if (mirror == nullptr) continue;
        mirror[0] = cosines.x;
        mirror[out_pitch] = cosines.y;
      } else {
        atomicAdd(at, cosines.x);
        atomicAdd(at + 1, cosines.y);
        if (mirror == nullptr) continue;
        atomicAdd(mirror, cosines.x);
        atomicAdd(mirror + out_pitch, cosines.y);
      }
    }
  }
}

}  // namespace

DenseRows make_dense(const GpuRows& rows, cudaStream_t stream) {
  DenseRows dense;
  dense.rows = padded(rows.rows);
  dense.cols = padded(rows.cols);
  const Offset cells = Offset{dense.rows} * dense.cols;
  dense.halves = DeviceArray<__half>(cells);
  dense.weights = DeviceArray<float>(cells);
  dense.inverse = DeviceArray<float>(dense.rows);
  fill_zero(dense.halves.data(), cells, stream);
  fill_zero(dense.weights.data(), cells, stream);
  // All bits set are a NaN too.
  LIKEWISE_CUDA_CHECK(cudaMemsetAsync(dense.inverse.data(), 0xFF, dense.inverse.bytes(), stream));
  constexpr int kBlock = 256;
  fill_kernel<<<static_cast<int>((Offset{rows.rows} * 32 + kBlock - 1) / kBlock), kBlock, 0,
                stream>>>(rows.offsets.data(), rows.columns.data(), rows.weights.data(), rows.rows,
                          dense.cols, dense.halves.data(), dense.weights.data(),
                          dense.inverse.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  return dense;
}

void find_cosines(const DenseRows& table, Index first, Index count, float* cosines,
                  cudaStream_t stream) {
  const bool mirrored = first == 0 && count == table.rows;
  const Index across = table.rows / kTile;
  const Index down = count / kTile;
  const Index tiles = mirrored ? across * (across + 1) / 2 : across * down;
  // Enough blocks for the GPU, each of at least kLeastSteps.
  const int parts = std::clamp(kProductBlocks * multiprocessor_count() / tiles, 1,
                               std::max(1, table.cols / kDepth / kLeastSteps));
  if (parts > 1) fill_zero(cosines, Offset{count} * table.rows, stream);
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(
      product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kProductShared));
  const dim3 grid(static_cast<unsigned>(across), static_cast<unsigned>(down),
                  static_cast<unsigned>(parts));
  product_kernel<<<grid, kProductThreads, kProductShared, stream>>>(
      table.halves.data(), table.cols, table.inverse.data(), first, table.rows, mirrored, cosines);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

float cosine_error(const DenseRows& table) {
  return 0x1.01p-10F + static_cast<float>(table.cols) * 0x1p-25F;
}

}  // namespace likewise::cuda
