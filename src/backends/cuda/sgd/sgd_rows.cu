// SPDX-License-Identifier: Apache-2.0
#include <algorithm>
#include <cuda_fp16.h>

#include "backends/cuda/device/check.h"
#include "backends/cuda/device/warp.cuh"
#include "backends/cuda/sgd/sgd_rows.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;
constexpr float kLargestHalf = 65504.0F;

/// A warp each.
[[nodiscard]] unsigned blocks_for(Index rows) {
  return static_cast<unsigned>(
      std::clamp<Offset>((Offset{rows} * 32 + kBlock - 1) / kBlock, 1, Offset{1} << 16));
}
__device__ __forceinline__ Index first_warp() {
  return static_cast<Index>((blockIdx.x * kBlock + threadIdx.x) / 32);
}
__device__ __forceinline__ Index all_warps() {
  return static_cast<Index>(gridDim.x * (kBlock / 32));
}

__device__ __forceinline__ float to_float(__half x) { return __half2float(x); }
__device__ __forceinline__ float to_float(float x) { return x; }
__device__ __forceinline__ void set(__half& to, float x) { to = __float2half_rn(x); }
__device__ __forceinline__ void set(float& to, float x) { to = x; }

template <class T>
__global__ void measure(const SgdTable table, Index rows, int columns, float least,
                        const float* weights, float lambda, float bias_lambda, double* terms) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (Index row = first_warp(); row < rows; row += all_warps()) {
    T* const line = static_cast<T*>(table.rows) + Offset{row} * columns;
    float norm = 0.0F;
    bool at_the_end = false;
    for (int c = lane; c < columns; c += 32) {
      float x = to_float(line[c]);
      if (x < least) set(line[c], x = least);
      norm += x * x;
      at_the_end = at_the_end || (sizeof(T) == 2 && !(fabsf(x) < kLargestHalf));
    }
    norm = warp_sum(norm);
    const bool diverged = __any_sync(0xffffffffU, at_the_end) != 0;
    if (lane > 0) continue;
    SgdRowNumbers& numbers = table.numbers[row];
    numbers.norm = norm;
    terms[row] = diverged ? static_cast<double>(INFINITY)
                          : double{weights[row]} *
                                (double{lambda} * double{norm} +
                                 double{bias_lambda} * double{numbers.bias} * double{numbers.bias});
  }
}

template <class T>
__global__ void split(const SgdTable table, SgdLongRow* rows, Index count, int columns) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (Index at = first_warp(); at < count; at += all_warps()) {
    SgdLongRow& row = rows[at];
    T* const all = static_cast<T*>(table.rows);
    const T* const from = all + Offset{row.row} * columns;
    for (Index line = row.first; line < row.end; ++line) {
      for (int c = lane; c < columns; c += 32) all[Offset{line} * columns + c] = from[c];
      if (lane == 0) table.numbers[line] = table.numbers[row.row];
    }
    if (lane == 0) row.squares = table.numbers[row.row].squares;
  }
}

template <class T>
__global__ void join(const SgdTable table, const SgdLongRow* rows, Index count, int columns,
                     const float* shares) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  for (Index at = first_warp(); at < count; at += all_warps()) {
    const SgdLongRow row = rows[at];
    T* const all = static_cast<T*>(table.rows);
    T* const to = all + Offset{row.row} * columns;
    for (int c = lane; c < columns; c += 32) {
      float x = shares[row.row] * to_float(to[c]);
      for (Index line = row.first; line < row.end; ++line) {
        x += shares[line] * to_float(all[Offset{line} * columns + c]);
      }
      set(to[c], x);
    }
    if (lane > 0) continue;
    SgdRowNumbers& numbers = table.numbers[row.row];
    numbers.bias *= shares[row.row];
    for (Index line = row.first; line < row.end; ++line) {
      numbers.bias += shares[line] * table.numbers[line].bias;
      numbers.squares += table.numbers[line].squares - row.squares;
    }
  }
}

}  // namespace

void measure_rows(bool halves, const SgdTable& table, Index rows, int columns, float least,
                  const float* weights, float lambda, float bias_lambda, double* terms,
                  cudaStream_t stream) {
  const auto kernel = halves ? measure<__half> : measure<float>;
  kernel<<<blocks_for(rows), kBlock, 0, stream>>>(table, rows, columns, least, weights, lambda,
                                                  bias_lambda, terms);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void split_rows(bool halves, const SgdTable& table, SgdLongRow* rows, Index count, int columns,
                cudaStream_t stream) {
  if (count == 0) return;
  const auto kernel = halves ? split<__half> : split<float>;
  kernel<<<blocks_for(count), kBlock, 0, stream>>>(table, rows, count, columns);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void join_rows(bool halves, const SgdTable& table, const SgdLongRow* rows, Index count, int columns,
               const float* shares, cudaStream_t stream) {
  if (count == 0) return;
  const auto kernel = halves ? join<__half> : join<float>;
  kernel<<<blocks_for(count), kBlock, 0, stream>>>(table, rows, count, columns, shares);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
