// SPDX-License-Identifier: Apache-2.0
/// Tensor-core products of 16 x 8 tiles, for four formats of the operands.
///
/// A format describes one "group" of interactions, the depth of one product: 16 numbers of 16 bits
/// or 8 of 32 bits. A strip is 16 neighbouring columns (factors) of a group, held by a warp as four
/// registers: register h + 2 q holds columns 8 h .. 8 h + 7 of half q of the group. The same
/// registers serve as the left operand (a strip's 16 columns) and, two by two, as right operands (8
/// columns each), which is what a Gram matrix wants.
#pragma once

#include <cstdint>
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "backends/cuda/device/half_matrices.cuh"
#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

__device__ __forceinline__ void mma_bfloat(float (&c)[4], const std::uint32_t (&a)[4],
                                           std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

__device__ __forceinline__ void mma_tf32(float (&c)[4], const std::uint32_t (&a)[4],
                                         std::uint32_t b0, std::uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 "
      "{%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};\n"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

/// The sum over the warp in every lane, by two products where shuffles take five: float32 except
/// for its last three bits.
__device__ __forceinline__ float tensor_sum(float x) {
  constexpr std::uint32_t kOne = 0x3F800000U;
  constexpr std::uint32_t kHigh = 0xFFFFE000U;  // what tensor cores look at
  const std::uint32_t high = as<std::uint32_t>(x) & kHigh;
  // Row by column: the sums of four lanes each, (g, 2t) and (g, 2t + 1) to lane (g, t).
  float fours[4] = {};
  const std::uint32_t ones[4] = {kOne, kOne, kOne, kOne};
  mma_tf32(fours, ones, high, as<std::uint32_t>(x - as<float>(high)));
  const float eight = fours[0] + fours[1];
  const std::uint32_t high_eight = as<std::uint32_t>(eight) & kHigh;
  const std::uint32_t low_eight = as<std::uint32_t>(eight - as<float>(high_eight));
  float all[4] = {};
  const std::uint32_t eights[4] = {high_eight, high_eight, low_eight, low_eight};
  mma_tf32(all, eights, kOne, kOne);
  return all[0];
}

/// Ties to even: an entry times a small whole weight lies half-way often, and a Gram matrix of
/// entries that all grew is too large.
__device__ __forceinline__ std::uint32_t to_tf32(float x) {
#if __CUDA_ARCH__ >= 900
  std::uint32_t bits;
  asm("cvt.rn.tf32.f32 %0, %1;\n" : "=r"(bits) : "f"(x));
  return bits;
#else
  const auto bits = as<std::uint32_t>(x);
  return (bits + 0xFFFU + (bits >> 13 & 1U)) & 0xFFFFE000U;
#endif
}

/// x = high + low. Conversions are slow: `high` is rounded by integers, and the tensor cores do not
/// look at what `low` has beyond its first 11 bits.
__device__ __forceinline__ void split_tf32(float x, std::uint32_t& high, std::uint32_t& low) {
  high = (as<std::uint32_t>(x) + 0x1000U) & 0xFFFFE000U;
  low = as<std::uint32_t>(x - as<float>(high));
}

/// What the four formats share: how one group's strips come out of shared memory.
struct SixteenBits {
  static constexpr int kTileStrips = 4;  ///< of a tile of a row's matrix (als/rows/shape.cuh)
  static constexpr int kGroup = 16;      ///< interactions of one product
  static constexpr int kStageRows = 32;  ///< interactions of one stage of the ring
  static constexpr int kBytes = 2;
  using Total = float;                  ///< in which a row's constant is summed
  static constexpr bool kWide = false;  ///< whether a strip takes twice its bits in registers
  /// An odd number of 16-byte units: eight rows of a matrix then lie in eight different banks.
  __host__ __device__ static constexpr int pitch(int padded) { return padded * 2 + 16; }
  using Strip = std::uint32_t[4];

  /// The strip at `column` of the group whose first row is at shared address `rows`.
  static __device__ __forceinline__ void load(Strip& strip, std::uint32_t rows, int pitch,
                                              int column, int lane) {
    const int row = (lane & 7) | ((lane >> 4) << 3);
    load_turned_matrices(strip, rows + row * pitch + (column + ((lane >> 3) & 1) * 8) * 2);
  }
  /// Weights 2 t, 2 t + 1 and 2 t + 8, 2 t + 9 of the group that starts at `at`.
  static __device__ __forceinline__ void load_weights(std::uint32_t (&w)[2], const void* at,
                                                      int lane) {
    const auto* words = static_cast<const std::uint32_t*>(at);
    w[0] = words[lane & 3];
    w[1] = words[(lane & 3) + 4];
  }
};

struct HalfFormat : SixteenBits {
  using Stored = __half;
  static constexpr int kParts = 2;  ///< numbers that together hold a float32 right-hand side

  static __device__ __forceinline__ __half store(float x) { return __float2half_rn(x); }
  static __device__ __forceinline__ __half store_part(float x) { return store(x); }
  static __device__ __forceinline__ float value(__half x) { return __half2float(x); }
  static __device__ __forceinline__ void scale(Strip& out, const Strip& in,
                                               const std::uint32_t (&w)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __half2 product = __hmul2(as<__half2>(in[i]), as<__half2>(w[i >> 1]));
      out[i] = as<std::uint32_t>(product);
    }
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const Strip& a, const Strip& b,
                                                  int h) {
    mma_half(c, a, b[h], b[h + 2]);
  }
  static __device__ __forceinline__ void multiply_column(float (&c)[4], const Strip& a,
                                                         const std::uint32_t (&b)[2]) {
    mma_half(c, a, b[0], b[1]);
  }
};

/// The same with larger tiles, by which one warp holds a matrix of 65 to 96 columns and four warps
/// one of 129 to 192.
struct LargeTilesHalfFormat : HalfFormat {
  static constexpr int kTileStrips = 6;
};

struct BfloatFormat : SixteenBits {
  using Stored = __nv_bfloat16;
  static constexpr int kParts = 3;

  static __device__ __forceinline__ __nv_bfloat16 store(float x) { return __float2bfloat16_rn(x); }
  static __device__ __forceinline__ __nv_bfloat16 store_part(float x) { return store(x); }
  static __device__ __forceinline__ float value(__nv_bfloat16 x) { return __bfloat162float(x); }
  static __device__ __forceinline__ void scale(Strip& out, const Strip& in,
                                               const std::uint32_t (&w)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const __nv_bfloat162 product =
          __hmul2(as<__nv_bfloat162>(in[i]), as<__nv_bfloat162>(w[i >> 1]));
      out[i] = as<std::uint32_t>(product);
    }
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const Strip& a, const Strip& b,
                                                  int h) {
    mma_bfloat(c, a, b[h], b[h + 2]);
  }
  static __device__ __forceinline__ void multiply_column(float (&c)[4], const Strip& a,
                                                         const std::uint32_t (&b)[2]) {
    mma_bfloat(c, a, b[0], b[1]);
  }
};

struct ThirtyTwoBits {
  static constexpr int kTileStrips = 4;
  static constexpr int kGroup = 8;
  static constexpr int kStageRows = 16;
  static constexpr int kBytes = 4;
  using Stored = float;
  /// 8 or 24 words past a multiple of 32: the reads of load() then hit different banks.
  __host__ __device__ static constexpr int pitch(int padded) { return padded * 4 + 32; }

  static __device__ __forceinline__ void load_words(float (&w)[4], std::uint32_t rows, int pitch,
                                                    int column, int lane) {
    const std::uint32_t at = rows + (lane & 3) * pitch + (column + (lane >> 2)) * 4;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      asm volatile("ld.shared.f32 %0, [%1];\n"
                   : "=f"(w[i])
                   : "r"(at + (i >> 1) * 4 * pitch + (i & 1) * 32)
                   : "memory");
    }
  }
  static __device__ __forceinline__ void load_weights(std::uint32_t (&w)[2], const void* at,
                                                      int lane) {
    const auto* words = static_cast<const std::uint32_t*>(at);
    w[0] = words[lane & 3];
    w[1] = words[(lane & 3) + 4];
  }
};

struct Tf32Format : ThirtyTwoBits {
  using Total = float;
  static constexpr bool kWide = false;
  static constexpr int kParts = 2;
  using Strip = std::uint32_t[4];

  static __device__ __forceinline__ float store(float x) { return as<float>(to_tf32(x)); }
  static __device__ __forceinline__ float store_part(float x) { return store(x); }
  static __device__ __forceinline__ float value(float x) { return x; }
  static __device__ __forceinline__ void load(Strip& strip, std::uint32_t rows, int pitch,
                                              int column, int lane) {
    float w[4];
    load_words(w, rows, pitch, column, lane);
#pragma unroll
    for (int i = 0; i < 4; ++i) strip[i] = as<std::uint32_t>(w[i]);
  }
  static __device__ __forceinline__ void scale(Strip& out, const Strip& in,
                                               const std::uint32_t (&w)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) out[i] = to_tf32(as<float>(in[i]) * as<float>(w[i >> 1]));
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const Strip& a, const Strip& b,
                                                  int h) {
    mma_tf32(c, a, b[h], b[h + 2]);
  }
  static __device__ __forceinline__ void multiply_column(float (&c)[4], const Strip& a,
                                                         const std::uint32_t (&b)[2]) {
    mma_tf32(c, a, b[0], b[1]);
  }
};

/// float32 by three products of tf32 halves: high * high + high * low + low * high.
///
/// Tensor cores cut off what does not fit a sum, always towards zero: over a long row that adds up
/// to more than float32's rounding. So only one group is summed there, and added by usual rounding.
struct FloatFormat : ThirtyTwoBits {
  using Total = double;
  static constexpr bool kWide = true;
  static constexpr int kParts = 2;
  struct Strip {
    std::uint32_t high[4];
    std::uint32_t low[4];
  };

  static __device__ __forceinline__ float store(float x) { return x; }
  static __device__ __forceinline__ float store_part(float x) { return as<float>(to_tf32(x)); }
  static __device__ __forceinline__ float value(float x) { return x; }
  static __device__ __forceinline__ void split(Strip& strip, int i, float x) {
    split_tf32(x, strip.high[i], strip.low[i]);
  }
  static __device__ __forceinline__ void load(Strip& strip, std::uint32_t rows, int pitch,
                                              int column, int lane) {
    float w[4];
    load_words(w, rows, pitch, column, lane);
#pragma unroll
    for (int i = 0; i < 4; ++i) split(strip, i, w[i]);
  }
  static __device__ __forceinline__ void scale(Strip& out, const Strip& in,
                                               const std::uint32_t (&w)[2]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      split(out, i, (as<float>(in.high[i]) + as<float>(in.low[i])) * as<float>(w[i >> 1]));
    }
  }
  static __device__ __forceinline__ void multiply(float (&c)[4], const Strip& a, const Strip& b,
                                                  int h) {
    float group[4] = {0.0F, 0.0F, 0.0F, 0.0F};
    mma_tf32(group, a.low, b.high[h], b.high[h + 2]);
    mma_tf32(group, a.high, b.low[h], b.low[h + 2]);
    mma_tf32(group, a.high, b.high[h], b.high[h + 2]);
    add(c, group);
  }
  static __device__ __forceinline__ void multiply_column(float (&c)[4], const Strip& a,
                                                         const std::uint32_t (&b)[2]) {
    float group[4] = {0.0F, 0.0F, 0.0F, 0.0F};
    mma_tf32(group, a.low, b[0], b[1]);
    mma_tf32(group, a.high, b[0], b[1]);
    add(c, group);
  }
  static __device__ __forceinline__ void add(float (&c)[4], const float (&group)[4]) {
#pragma unroll
    for (int i = 0; i < 4; ++i) c[i] += group[i];
  }
};

}  // namespace likewise::cuda
