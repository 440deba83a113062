// SPDX-License-Identifier: Apache-2.0
/// The kernels of multiply_rows.cu: products of tall tables with small matrices.
///
/// A warp owns 16 rows. It reads them once, straight into the registers of the left operand, and
/// splits them there (device/split_float.cuh); the small matrix lies split and in the order of the
/// operands in shared memory, so that a lane fetches what a product needs with one load of 16
/// bytes. The depths and the columns are assigned to the lanes so that every lane reads and writes
/// four neighbouring floats.
#pragma once

#include "backends/cuda/device/half_matrices.cuh"
#include "backends/cuda/device/split_float.cuh"
#include "likewise/types.h"

namespace likewise::cuda::rows {

constexpr int kGroup = 16;    // columns, or depths, of one step
constexpr int kNarrow = 128;  // widest table that a warp keeps whole
constexpr int kNarrowThreads = 256;
constexpr int kWideThreads = 384;
constexpr int kWideRows = kWideThreads / 32 * kGroup;

// ------------------------------------------------------------------------------ where results go

struct StoreFloat {
  float* c;
  __device__ void start() {}
  __device__ void put(Offset at, const float4& x) { *reinterpret_cast<float4*>(c + at) = x; }
  __device__ void finish() {}
};

struct StoreHalf {
  const float* scale_at;
  __half* c;
  float scale = 0.0F;
  __device__ void start() { scale = *scale_at; }
  __device__ void put(Offset at, const float4& x) {
    const uint2 bits = {half_bits(__floats2half2_rn(scale * x.x, scale * x.y)),
                        half_bits(__floats2half2_rn(scale * x.z, scale * x.w))};
    *reinterpret_cast<uint2*>(c + at) = bits;
  }
  __device__ void finish() {}
};

struct KeepLargest {
  unsigned* largest;
  unsigned mine = 0;
  __device__ void start() {}
  __device__ void put(Offset, const float4& x) {
    mine = max(mine, max(max(magnitude_bits(x.x), magnitude_bits(x.y)),
                         max(magnitude_bits(x.z), magnitude_bits(x.w))));
  }
  __device__ void finish() {
    mine = __reduce_max_sync(0xFFFFFFFFU, mine);
    if (threadIdx.x % 32 == 0) atomicMax(largest, mine);
  }
};

// --------------------------------------------------------------------------------- a warp's parts

/// kSteps * 16 columns of 16 rows, split. Lane (g, t) holds columns 4t .. 4t + 3 of every step of
/// rows g and g + 8.
template <int kSteps>
struct Strip {
  std::uint32_t high[kSteps][4];
  std::uint32_t low[kSteps][4];
  float unscale[2];

  /// Columns first .. of the rows from `row` on; zeros beyond the table.
  __device__ __forceinline__ void load(const float* __restrict__ a, Index row, Index rows,
                                       int padded, int first, int lane) {
    float4 x[kSteps][2];
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const Index r = row + lane / 4 + 8 * half;
      const float* from = a + static_cast<Offset>(r) * padded + first + 4 * (lane % 4);
#pragma unroll
      for (int s = 0; s < kSteps; ++s) {
        const bool inside = r < rows && first + s * kGroup < padded;
        x[s][half] = inside ? __ldg(reinterpret_cast<const float4*>(from + s * kGroup))
                            : float4{0.0F, 0.0F, 0.0F, 0.0F};
      }
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) split(x, half);
  }

  __device__ __forceinline__ void split(const float4 (&x)[kSteps][2], int half) {
    std::uint32_t largest = 0;
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const float4& v = x[s][half];
      largest = max(largest, max(max(magnitude_bits(v.x), magnitude_bits(v.y)),
                                 max(magnitude_bits(v.z), magnitude_bits(v.w))));
    }
    largest = max(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 1));
    largest = max(largest, __shfl_xor_sync(0xFFFFFFFFU, largest, 2));
    const float scale = split_scale(largest);
    unscale[half] = inverse_scale(scale);
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      const float4& v = x[s][half];
      const SplitPair near = split_pair(v.x, v.y, scale);
      const SplitPair far = split_pair(v.z, v.w, scale);
      high[s][half] = near.high;
      high[s][half + 2] = far.high;
      low[s][half] = near.low;
      low[s][half + 2] = far.low;
    }
  }

  /// The product with 16 columns of b, whose steps start at `b`; to be multiplied by `unscale` of
  /// the row and of the column. c[n]: columns 4t + 2n, 4t + 2n + 1.
  __device__ __forceinline__ void multiply(const SplitColumn* b, int lane, float (&c)[2][4]) const {
    float cross[2][4] = {};
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (float& x : c[n]) x = 0.0F;
    }
#pragma unroll
    for (int s = 0; s < kSteps; ++s) {
      // Four sums in turn: none waits for the product before it.
      const SplitColumn near = b[2 * s * 32 + lane];
      const SplitColumn far = b[(2 * s + 1) * 32 + lane];
      mma_half(cross[0], low[s], near.high[0], near.high[1]);
      mma_half(cross[1], low[s], far.high[0], far.high[1]);
      mma_half(c[0], high[s], near.high[0], near.high[1]);
      mma_half(c[1], high[s], far.high[0], far.high[1]);
      mma_half(cross[0], high[s], near.low[0], near.low[1]);
      mma_half(cross[1], high[s], far.low[0], far.low[1]);
    }
#pragma unroll
    for (int n = 0; n < 2; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) c[n][i] += cross[n][i];
    }
  }
};

/// Hands the warp's 16 rows of 16 columns to `out`.
template <class Out>
__device__ __forceinline__ void put_group(Out& out, const float (&c)[2][4], const float4& unscale,
                                          Index row, Index rows, int padded, int column, int lane) {
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const Index r = row + lane / 4 + 8 * half;
    if (r >= rows) continue;
    out.put(static_cast<Offset>(r) * padded + column + 4 * (lane % 4),
            {c[0][2 * half] * unscale.x, c[0][2 * half + 1] * unscale.y, c[1][2 * half] * unscale.z,
             c[1][2 * half + 1] * unscale.w});
  }
}

__device__ __forceinline__ void copy_async(void* to, const void* from) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;\n" ::"r"(
                   static_cast<std::uint32_t>(__cvta_generic_to_shared(to))),
               "l"(from)
               : "memory");
}

template <int kThreads>
__device__ __forceinline__ void copy_piece(SplitColumn* to, const SplitColumn* from, int count) {
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads) {
    copy_async(to + i, from + i);
  }
  asm volatile("cp.async.commit_group;\n" ::: "memory");
}

template <int kLeft>
__device__ __forceinline__ void wait_for_pieces() {
  asm volatile("cp.async.wait_group %0;\n" ::"n"(kLeft) : "memory");
  __syncthreads();
}

// ---------------------------------------------------------------------------------------- kernels

/// One block splits 16 columns of b, each with its own scale. Step s of piece k of the depth, 16
/// columns n of piece p lie at (((p pieces + k) steps + n) steps + s) 64.
__global__ void split_columns(const float* __restrict__ b, int padded, int pieces, int steps,
                              SplitColumn* __restrict__ parts, float* __restrict__ unscale) {
  __shared__ unsigned largest[kGroup];
  const int thread = static_cast<int>(threadIdx.x);
  const int first = static_cast<int>(blockIdx.x) * kGroup;
  if (thread < kGroup) largest[thread] = 0;
  __syncthreads();
  if (first < padded) {
    unsigned mine = 0;
    for (int r = thread / kGroup; r < padded; r += static_cast<int>(blockDim.x) / kGroup) {
      mine = max(mine, magnitude_bits(b[r * padded + first + thread % kGroup]));
    }
    atomicMax(&largest[thread % kGroup], mine);
  }
  __syncthreads();
  if (thread < kGroup) unscale[first + thread] = inverse_scale(split_scale(largest[thread]));

  const int lane = thread % 32;
  const int g = lane / 4;
  const int t = lane % 4;
  const int group = static_cast<int>(blockIdx.x);
  for (int step = thread / 32; step < pieces * steps; step += static_cast<int>(blockDim.x) / 32) {
    for (int n = 0; n < 2; ++n) {
      const int column = 4 * (g / 2) + 2 * n + g % 2;
      float x[4];
      for (int i = 0; i < 4; ++i) {
        const int r = step * kGroup + 4 * t + i;
        x[i] = r < padded && first < padded ? b[r * padded + first + column] : 0.0F;
      }
      const int piece = group / steps * pieces + step / steps;
      const int at = (piece * steps + group % steps) * steps + step % steps;
      parts[(at * 2 + n) * 32 + lane] = split_column(x, split_scale(largest[column]));
    }
  }
}

/// Tables of kSteps * 16 <= 128 columns: all of b stays in shared memory, 64 KB at most, and the
/// warps of two blocks a multiprocessor walk through the rows.
template <int kSteps, class Out>
__global__ void __launch_bounds__(kNarrowThreads, 2)
    multiply_narrow(const float* __restrict__ a, Index rows, const SplitColumn* __restrict__ parts,
                    const float* __restrict__ unscale, Out out) {
  extern __shared__ SplitColumn b[];
  __shared__ float4 column_unscale[kSteps * 4];
  constexpr int kPadded = kSteps * kGroup;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  copy_piece<kNarrowThreads>(b, parts, kSteps * kSteps * 64);
  if (threadIdx.x < kSteps * 4) {
    column_unscale[threadIdx.x] = reinterpret_cast<const float4*>(unscale)[threadIdx.x];
  }
  wait_for_pieces<0>();

  out.start();
  const Offset step = static_cast<Offset>(gridDim.x) * (kNarrowThreads / 32) * kGroup;
  Offset first =
      (static_cast<Offset>(blockIdx.x) * (kNarrowThreads / 32) + threadIdx.x / 32) * kGroup;
  for (; first < rows; first += step) {
    const auto row = static_cast<Index>(first);
    Strip<kSteps> strip;
    strip.load(a, row, rows, kPadded, 0, lane);
#pragma unroll 1
    for (int n = 0; n < kSteps; ++n) {
      float c[2][4];
      strip.multiply(b + n * kSteps * 64, lane, c);
#pragma unroll
      for (int m = 0; m < 2; ++m) {
#pragma unroll
        for (int i = 0; i < 4; ++i) c[m][i] *= strip.unscale[i / 2];
      }
      put_group(out, c, column_unscale[n * 4 + lane % 4], row, rows, kPadded, n * kGroup, lane);
    }
  }
  out.finish();
}

/// Wider tables: a block owns one piece (kSteps * 16) of the columns and sums over the pieces of
/// the depth. Two pieces of b stay in shared memory, and the warps walk through the rows. More
/// pieces pass through it, each fetched while the one before is multiplied, and a block has 16 rows
/// a warp.
template <int kSteps, bool kStay, class Out>
__global__ void __launch_bounds__(kWideThreads, 1)
    multiply_wide(const float* __restrict__ a, Index rows, int padded, int pieces,
                  const SplitColumn* __restrict__ parts, const float* __restrict__ unscale,
                  Out out) {
  extern __shared__ SplitColumn b[];
  constexpr int kPiece = kSteps * kSteps * 64;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int piece = static_cast<int>(blockIdx.x) % pieces;
  const SplitColumn* mine = parts + static_cast<Offset>(piece) * pieces * kPiece;
  copy_piece<kWideThreads>(b, mine, (kStay ? 2 : 1) * kPiece);
  if (kStay) wait_for_pieces<0>();

  out.start();
  const auto strip_number = static_cast<Offset>(blockIdx.x) / pieces;
  const Offset step = static_cast<Offset>(gridDim.x) / pieces * kWideRows;
  // All warps of a block stay together where they wait for each other.
  for (Offset first = strip_number * kWideRows; first < rows; first += step) {
    const auto row = static_cast<Index>(min(first + threadIdx.x / 32 * kGroup, Offset{rows}));
    float total[kSteps][2][4] = {};
    for (int k = 0; k < pieces; ++k) {
      Strip<kSteps> strip;
      strip.load(a, row, rows, padded, k * kSteps * kGroup, lane);
      if (!kStay) {
        wait_for_pieces<0>();
        if (k + 1 < pieces) {
          copy_piece<kWideThreads>(b + (k + 1) % 2 * kPiece, mine + (k + 1) * kPiece, kPiece);
        }
      }
#pragma unroll
      for (int n = 0; n < kSteps; ++n) {
        float c[2][4];
        strip.multiply(b + k % 2 * kPiece + n * kSteps * 64, lane, c);
#pragma unroll
        for (int m = 0; m < 2; ++m) {
#pragma unroll
          for (int i = 0; i < 4; ++i) {
            total[n][m][i] = fmaf(c[m][i], strip.unscale[i / 2], total[n][m][i]);
          }
        }
      }
    }
#pragma unroll
    for (int n = 0; n < kSteps; ++n) {
      const int column = (piece * kSteps + n) * kGroup;
      if (column >= padded) break;
      const float4 scale = reinterpret_cast<const float4*>(unscale)[column / 4 + lane % 4];
      put_group(out, total[n], scale, row, rows, padded, column, lane);
    }
  }
  out.finish();
}

}  // namespace likewise::cuda::rows
