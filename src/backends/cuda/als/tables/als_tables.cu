// SPDX-License-Identifier: Apache-2.0
#include <algorithm>

#include "backends/cuda/als/tables/als_tables.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/mma.cuh"
#include "backends/cuda/device/warp.cuh"
#include "backends/jobs/als_changes.h"

namespace likewise::cuda {
namespace {

constexpr int kBlock = 256;

[[nodiscard]] int blocks_for(Offset threads) {
  return static_cast<int>(std::clamp<Offset>((threads + kBlock - 1) / kBlock, 1, 1 << 16));
}

__device__ __forceinline__ Offset first_thread() {
  return Offset{blockIdx.x} * kBlock + threadIdx.x;
}
__device__ __forceinline__ Offset all_threads() { return Offset{gridDim.x} * kBlock; }

__global__ void fill_column_kernel(float* table, Index rows, int padded, int column, float value) {
  for (Offset r = first_thread(); r < rows; r += all_threads()) {
    table[r * padded + column] = value;
  }
}

__global__ void put_column_kernel(float* table, Index rows, int padded, int column,
                                  const float* values) {
  for (Offset r = first_thread(); r < rows; r += all_threads()) {
    table[r * padded + column] = values[r];
  }
}

__global__ void take_bias_kernel(float* table, Index rows, int padded, int column, float* bias) {
  for (Offset r = first_thread(); r < rows; r += all_threads()) {
    bias[r] = table[r * padded + column];
    table[r * padded + column] = 1.0F;
  }
}

__global__ void clear_empty_rows_kernel(float* table, Index rows, int padded, int width,
                                        const Offset* offsets) {
  for (Offset r = first_thread(); r < rows; r += all_threads()) {
    if (offsets[r] < offsets[r + 1]) continue;
    for (int c = 0; c < width; ++c) table[r * padded + c] = 0.0F;
  }
}

template <class Format>
__global__ void store_table_kernel(const float4* table, Offset quads, float scale,
                                   typename Format::Stored* out) {
  for (Offset i = first_thread(); i < quads; i += all_threads()) {
    const float4 x = table[i];
    out[4 * i] = Format::store(scale * x.x);
    out[4 * i + 1] = Format::store(scale * x.y);
    out[4 * i + 2] = Format::store(scale * x.z);
    out[4 * i + 3] = Format::store(scale * x.w);
  }
}

__global__ void regularized_gram_kernel(const double* gram, int width, int padded, double weight,
                                        double lambda, float* out) {
  for (Offset at = first_thread(); at < Offset{padded} * padded; at += all_threads()) {
    const Offset i = at / padded;
    const Offset j = at % padded;
    const double value = weight * gram[at] + (i == j ? lambda : 0.0);
    out[at] = i < width && j < width ? static_cast<float>(value) : 0.0F;
  }
}

__global__ void regularization_kernel(const float* table, Index rows, int padded, int width,
                                      const float* bias, const float* regularization, double* out) {
  const int lane = threadIdx.x % 32;
  for (Offset r = first_thread() / 32; r < rows; r += all_threads() / 32) {
    double square = 0.0;
    for (int c = lane; c < width; c += 32) {
      const double x = table[r * padded + c];
      square += x * x;
    }
    square = warp_sum(square);
    if (lane > 0) continue;
    if (bias != nullptr) square += static_cast<double>(bias[r]) * bias[r];
    out[r] = regularization[r] * square;
  }
}

// A warp a row.
__global__ void move_starts_kernel(const float* table, Index rows, int padded, int factors,
                                   const std::uint16_t* changes, float ratio, float* starts) {
  const int lane = threadIdx.x % 32;
  for (Offset r = first_thread() / 32; r < rows; r += all_threads() / 32) {
    for (int c = lane; c < padded; c += 32) {
      const float x = table[r * padded + c];
      starts[r * padded + c] = c < factors ? moved_start(x, ratio, changes[r * factors + c]) : x;
    }
  }
}

// A warp a row, which reads kAtOnce numbers of each table before it writes.
__global__ void keep_changes_kernel(const float* __restrict__ solutions, Index rows, int padded,
                                    int factors, float* __restrict__ table,
                                    std::uint16_t* __restrict__ changes, double* squares,
                                    double* last_squares) {
  constexpr int kAtOnce = 8;
  const int lane = threadIdx.x % 32;
  for (Offset r = first_thread() / 32; r < rows; r += all_threads() / 32) {
    double square = 0.0;
    double last_square = 0.0;
    for (int first = lane; first < padded; first += 32 * kAtOnce) {
      const Offset in_table = r * padded + first;
      const Offset in_changes = r * factors + first;
      float now[kAtOnce];
      float before[kAtOnce];
      std::uint16_t last_bits[kAtOnce];
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        const bool there = first + 32 * i < padded;
        const bool is_factor = first + 32 * i < factors;
        now[i] = there ? solutions[in_table + 32 * i] : 0.0F;
        before[i] = there ? table[in_table + 32 * i] : 0.0F;
        last_bits[i] = is_factor ? changes[in_changes + 32 * i] : std::uint16_t{0};
      }
#pragma unroll
      for (int i = 0; i < kAtOnce; ++i) {
        if (first + 32 * i < padded) table[in_table + 32 * i] = now[i];
        if (first + 32 * i >= factors) continue;
        const std::uint16_t bits = bfloat16_of(now[i] - before[i]);
        changes[in_changes + 32 * i] = bits;
        const double change = float_of_bfloat16(bits);
        const double last = float_of_bfloat16(last_bits[i]);
        square += change * change;
        last_square += last * last;
      }
    }
    square = warp_sum(square);
    last_square = warp_sum(last_square);
    if (lane > 0) continue;
    squares[r] = square;
    last_squares[r] = last_square;
  }
}

template <class Format>
void store(const float* table, Offset numbers, float scale, void* out, cudaStream_t stream) {
  store_table_kernel<Format><<<blocks_for(numbers / 4), kBlock, 0, stream>>>(
      reinterpret_cast<const float4*>(table), numbers / 4, scale,
      static_cast<typename Format::Stored*>(out));
}

}  // namespace

void fill_column(float* table, Index rows, int padded, int column, float value,
                 cudaStream_t stream) {
  fill_column_kernel<<<blocks_for(rows), kBlock, 0, stream>>>(table, rows, padded, column, value);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void put_column(float* table, Index rows, int padded, int column, const float* values,
                cudaStream_t stream) {
  put_column_kernel<<<blocks_for(rows), kBlock, 0, stream>>>(table, rows, padded, column, values);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void take_bias(float* table, Index rows, int padded, int column, float* bias, cudaStream_t stream) {
  take_bias_kernel<<<blocks_for(rows), kBlock, 0, stream>>>(table, rows, padded, column, bias);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void clear_empty_rows(float* table, Index rows, int padded, int width, const Offset* offsets,
                      cudaStream_t stream) {
  clear_empty_rows_kernel<<<blocks_for(rows), kBlock, 0, stream>>>(table, rows, padded, width,
                                                                   offsets);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void store_table(Precision precision, const float* table, Offset numbers, float scale, void* out,
                 cudaStream_t stream) {
  switch (precision) {
    case Precision::kBf16:
      store<BfloatFormat>(table, numbers, scale, out, stream);
      break;
    case Precision::kTf32:
      store<Tf32Format>(table, numbers, scale, out, stream);
      break;
    case Precision::kFp32:
      store<FloatFormat>(table, numbers, scale, out, stream);
      break;
    default:
      store<HalfFormat>(table, numbers, scale, out, stream);
  }
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void regularized_gram(const double* gram, int width, int padded, double weight, double lambda,
                      float* out, cudaStream_t stream) {
  regularized_gram_kernel<<<blocks_for(Offset{padded} * padded), kBlock, 0, stream>>>(
      gram, width, padded, weight, lambda, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

int stored_bytes(Precision precision) {
  return precision == Precision::kFp32 || precision == Precision::kTf32 ? 4 : 2;
}

void regularize_rows(const float* table, Index rows, int padded, int width, const float* bias,
                     const float* regularization, double* out, cudaStream_t stream) {
  regularization_kernel<<<blocks_for(Offset{rows} * 32), kBlock, 0, stream>>>(
      table, rows, padded, width, bias, regularization, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void move_starts(const float* table, Index rows, int padded, int factors,
                 const std::uint16_t* changes, float ratio, float* starts, cudaStream_t stream) {
  move_starts_kernel<<<blocks_for(Offset{rows} * 32), kBlock, 0, stream>>>(
      table, rows, padded, factors, changes, ratio, starts);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void keep_changes(const float* solutions, Index rows, int padded, int factors, float* table,
                  std::uint16_t* changes, double* squares, double* last_squares,
                  cudaStream_t stream) {
  keep_changes_kernel<<<blocks_for(Offset{rows} * 32), kBlock, 0, stream>>>(
      solutions, rows, padded, factors, table, changes, squares, last_squares);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
