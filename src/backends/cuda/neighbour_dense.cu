// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/split_float.cuh"
#include "backends/cuda/device/warp.cuh"
#include "backends/cuda/neighbour_dense.h"
#include "backends/cuda/neighbour_formula.cuh"
#include "backends/cuda/neighbour_keys.cuh"

namespace likewise::cuda {
namespace {

constexpr int kTile = DenseRows::kStep;  // rows and columns of a block's product
constexpr int kDepth = 64;               // of one stage
constexpr int kStages = 3;
constexpr int kProductThreads = 128;
constexpr int kTileBytes = kTile * kDepth * 2;
constexpr int kProductShared = kStages * 2 * kTileBytes;
constexpr int kThreads = 512;  // of a block that makes lists

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
    inverse[row] = squares > 0.0 ? static_cast<float>(ldexp(1.0 / sqrt(squares), -exponent)) : 0.0F;
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

__device__ __forceinline__ void load_matrices(std::uint32_t (&x)[4], std::uint32_t tile, int row,
                                              int chunk) {
  const std::uint32_t at = tile + row * 128 + ((chunk ^ (row & 7)) * 16);
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0,%1,%2,%3}, [%4];\n"
               : "=r"(x[0]), "=r"(x[1]), "=r"(x[2]), "=r"(x[3])
               : "r"(at)
               : "memory");
}

/// out[x - first][y] = cosine of rows x and y. A block owns 128 x 128 of them, a warp 64 x 64 in
/// registers: 32 products for 8 loads of operands. Where all rows are asked for at once, only the
/// tiles on one side of the diagonal are computed, and written to both.
__global__ void __launch_bounds__(kProductThreads, 2)
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
  const int steps = pitch / kDepth;
  const auto fetch = [&](int step) {
    if (step < steps) {
      const std::uint32_t stage = shared + step % kStages * 2 * kTileBytes;
      copy_tile(stage, table, pitch, left, step * kDepth);
      copy_tile(stage + kTileBytes, table, pitch, right, step * kDepth);
    }
    commit_copies();
  };
  float c[4][8][4] = {};
  for (int step = 0; step < kStages - 1; ++step) fetch(step);
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
        load_matrices(a[i], rows_at, own_row + i * 16 + lane % 16, k * 2 + lane / 16);
        load_matrices(b[i], columns_at, own_column + i * 16 + lane % 8 + lane / 16 * 8,
                      k * 2 + lane / 8 % 2);
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          multiply_halves(c[i][j], a[i], b[j / 2][j % 2 * 2], b[j / 2][j % 2 * 2 + 1]);
        }
      }
    }
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const Index x = left + own_row + i * 16 + lane / 4 + e / 2 * 8;
        const Index y = right + own_column + j * 8 + lane % 4 * 2 + e % 2;
        const float cosine = c[i][j][e] * inverse[x] * inverse[y];
        out[Offset{x - first} * out_pitch + y] = cosine;
        if (mirrored && left != right) out[Offset{y} * out_pitch + x] = cosine;
      }
    }
  }
}

struct ListTask {
  const float* weights;
  Index pitch;
  const float* cosines;
  Index cosine_pitch;
  const Index* rank_of;
  CardFormula formula;
  CardFacts facts;
  Index rows;
  Index first;
  Index k;
  float error;
  Index* found;
  Candidate* lists;
};

/// sum_c a_c b_c in float64, the same in every lane. Only its order is not the reference's.
__device__ __forceinline__ double exact_product(const float* a, const float* b, Index pitch) {
  const int lane = threadIdx.x % 32;
  double sum = 0.0;
#pragma unroll 4
  for (Index c = 4 * lane; c < pitch; c += 128) {
    const float4 x = *reinterpret_cast<const float4*>(a + c);
    const float4 y = *reinterpret_cast<const float4*>(b + c);
    sum += static_cast<double>(x.x) * static_cast<double>(y.x);
    sum += static_cast<double>(x.y) * static_cast<double>(y.y);
    sum += static_cast<double>(x.z) * static_cast<double>(y.z);
    sum += static_cast<double>(x.w) * static_cast<double>(y.w);
  }
  return warp_sum(sum);
}

/// A block makes the list of one row: the k-th largest cosine, all that may beat it, these exactly,
/// and sorted.
__global__ void __launch_bounds__(kThreads, 2) list_kernel(const __grid_constant__ ListTask task) {
  __shared__ BestKeys best;
  __shared__ std::uint64_t keys[kSharedKeys];
  __shared__ Index candidates[kSharedKeys];
  __shared__ int count;
  const Index query = static_cast<Index>(blockIdx.x);
  const Index row = task.first + query;
  const float* const cosines = task.cosines + Offset{query} * task.cosine_pitch;
  if (threadIdx.x == 0) {
    best = {0, 0};
    count = 0;
    task.found[query] = 0;
  }
  __syncthreads();
  for (Index begin = 0; begin < task.rows; begin += kThreads) {
    const Index y = begin + static_cast<Index>(threadIdx.x);
    const bool other = y < task.rows && y != row;
    offer_keys<kThreads>(best, keys, kSharedKeys, task.k, other ? key_of(cosines[y], y) : 0);
  }
  prune_keys<kThreads>(best, keys, task.k);
  float least =
      best.count == task.k ? candidate_of(best.threshold).score - 2.0F * task.error : -2.0F;
  if (!task.formula.keep_negative) least = fmaxf(least, -task.error);
  for (Index y = static_cast<Index>(threadIdx.x); y < task.rows; y += kThreads) {
    if (y == row || cosines[y] < least) continue;
    const int at = atomicAdd(&count, 1);
    if (at < kSharedKeys) candidates[at] = y;
  }
  __syncthreads();
  const int all = count;
  if (all > kSharedKeys) {
    if (threadIdx.x == 0) task.found[query] = -1;
    return;
  }
  const Index rank = task.rank_of[row];
  const RowFacts x{task.facts.norm[rank], task.facts.count[rank]};
  for (int i = static_cast<int>(threadIdx.x) / 32; i < all; i += kThreads / 32) {
    const Index y = candidates[i];
    const double product = exact_product(task.weights + Offset{row} * task.pitch,
                                         task.weights + Offset{y} * task.pitch, task.pitch);
    if (threadIdx.x % 32 != 0) continue;
    PairSums s;
    s.xy = product;
    const float score = pair_similarity(task.formula, task.facts, x, task.rank_of[y], s);
    keys[i] = score != 0.0F ? key_of(score, y) : 0;
  }
  if (threadIdx.x == 0) best.count = all;
  __syncthreads();
  prune_keys<kThreads>(best, keys, task.k);
  for (int i = static_cast<int>(threadIdx.x); i < best.count; i += kThreads) {
    if (keys[i] == 0) continue;
    task.lists[Offset{query} * task.k + i] = candidate_of(keys[i]);
    if (i + 1 == best.count || keys[i + 1] == 0) task.found[query] = i + 1;
  }
}

}  // namespace

bool dense_can(const CardFormula& formula, Index k) {
  return formula.form == PairForm::kCosine && !formula.counted && formula.amplification == 1.0 &&
         formula.shrinkage == 0.0 && key_capacity(k) <= kSharedKeys;
}

DenseRows make_dense(const CardRows& rows, cudaStream_t stream) {
  DenseRows dense;
  dense.rows = padded(rows.rows);
  dense.cols = padded(rows.cols);
  const Offset cells = Offset{dense.rows} * dense.cols;
  dense.halves = DeviceArray<__half>(cells);
  dense.weights = DeviceArray<float>(cells);
  dense.inverse = DeviceArray<float>(dense.rows);
  fill_zero(dense.halves.data(), cells, stream);
  fill_zero(dense.weights.data(), cells, stream);
  fill_zero(dense.inverse.data(), dense.rows, stream);
  constexpr int kBlock = 256;
  fill_kernel<<<static_cast<int>((Offset{rows.rows} * 32 + kBlock - 1) / kBlock), kBlock, 0,
                stream>>>(rows.offsets.data(), rows.columns.data(), rows.weights.data(), rows.rows,
                          dense.cols, dense.halves.data(), dense.weights.data(),
                          dense.inverse.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
  return dense;
}

void search_dense(const DenseTask& task, cudaStream_t stream) {
  const DenseRows& table = *task.table;
  const bool all = task.first == 0 && task.count == table.rows;
  LIKEWISE_CUDA_CHECK(cudaFuncSetAttribute(
      product_kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kProductShared));
  const dim3 tiles(static_cast<unsigned>(table.rows / kTile),
                   static_cast<unsigned>(task.count / kTile));
  product_kernel<<<tiles, kProductThreads, kProductShared, stream>>>(
      table.halves.data(), table.cols, table.inverse.data(), task.first, table.rows, all,
      task.cosines);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  // Each of cols / 16 sums on the tensor cores loses up to 2^-21 of what was added up so far.
  const float error = 0x1.01p-10F + static_cast<float>(table.cols) * 0x1p-25F;
  const Index lists = std::min(task.count, task.rows - task.first);
  list_kernel<<<lists, kThreads, 0, stream>>>(
      {table.weights.data(), table.cols, task.cosines, table.rows, task.rank_of, task.formula,
       task.facts, task.rows, task.first, task.k, error, task.found, task.lists});
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
