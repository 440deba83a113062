// SPDX-License-Identifier: Apache-2.0
/// Short rows: matrix-free conjugate gradients. A row's factor rows lie in shared memory, read once
/// from memory; a step multiplies with them twice, q = V p and y = V^T (w q), on tensor cores whose
/// right operands hold a float32 vector in two float16 parts. No matrix is formed.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/gradients.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

/// kWarps warps solve a row; warp w has the interactions 32 (w + i kWarps) .. + 31.
template <int kStrips, int kWarps>
struct RowProducts {
  using Format = HalfFormat;
  using Strip = Format::Strip;
  static constexpr int kPadded = 16 * kStrips;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kPitch = Format::pitch(kPadded);
  using Vectors = RowVectors<kPadded>;
  using Lane = typename Vectors::Lane;
  static constexpr int kOwn = Vectors::kOwn;
  static constexpr int kChunks = kPadded / 8;  ///< of 16 bytes in a row
  static constexpr float kNorm = 64.0F;        ///< of a vector that is cut into parts
  static constexpr float kLargestPart = 16384.0F;

  // ---- shared memory
  struct Memory {
    unsigned char* table;  ///< [capacity] rows of kPitch bytes
    float* w;              ///< [capacity]
    float* v;              ///< [capacity]
    float* sums;           ///< [2][kWarps][kPadded + 2]: parts of y
    __half* parts;         ///< this warp's: [2][kPadded] of a vector
    __half* tile_parts;    ///< this warp's: [2][16] of a tile
    __device__ __forceinline__ Memory(unsigned char* shared, int capacity, int warp)
        : table(shared),
          w(reinterpret_cast<float*>(shared + capacity * kPitch)),
          v(w + capacity),
          sums(v + capacity),
          parts(reinterpret_cast<__half*>(sums + 2 * kWarps * (kPadded)) +
                warp * (2 * kPadded + 32)),
          tile_parts(parts + 2 * kPadded) {}
  };
  static constexpr int shared_bytes(int capacity) {
    return capacity * (kPitch + 8) + 2 * kWarps * (kPadded)*4 + kWarps * (2 * kPadded + 32) * 2;
  }

  static __device__ __forceinline__ void synchronize() {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }

  /// What the row's products need.
  struct Row {
    int tiles;  ///< of 16 interactions
    float bound_w;
    int warp, lane, g, t;
    std::uint32_t table;
  };

  /// Calls visit(tile) for the tiles of this warp.
  template <class Visit>
  static __device__ __forceinline__ void for_tiles(const Row& row, Visit visit) {
    for (int pair = row.warp; 2 * pair < row.tiles; pair += kWarps) {
      visit(2 * pair);
      if (2 * pair + 1 < row.tiles) visit(2 * pair + 1);
    }
  }

  /// Starts the copies of the row's table and writes its weights. Returns this lane's part of the
  /// row's constant.
  static __device__ __forceinline__ float gather(const RowProblem& problem, const RowTask& task,
                                                 const Row& row, const RowBounds& bounds,
                                                 const Memory& memory) {
    const RowWeights& how = problem.weights;
    const auto* table = static_cast<const unsigned char*>(problem.table);
    const float inverse_w = 1.0F / bounds.w;
    const float inverse_v = 1.0F / bounds.v;
    float constant = 0.0F;
    for (int first = 32 * row.warp; first < 16 * row.tiles; first += 32 * kWarps) {
      const int i = first + row.lane;
      RowEntry entry{0, 0.0F};
      float w = 0.0F;
      float v = 0.0F;
      if (i < task.count) {
        const int2 both = __ldg(reinterpret_cast<const int2*>(problem.entries + task.begin + i));
        entry = {both.x, __int_as_float(both.y)};
        if (how.explicit_feedback) {
          w = 1.0F;
          v = rating_target(entry.value, how.mean,
                            how.bias == nullptr ? 0.0F : __ldg(how.bias + entry.column));
          constant = fmaf(v, v, constant);
        } else {
          w = fabsf(entry.value);
          if (entry.value > 0.0F) {
            v = like_target(how.slope, w);
            constant += v;
          }
        }
      }
      if (i < 16 * row.tiles) {
        memory.w[i] = w * inverse_w;
        memory.v[i] = v * inverse_v;
      }
      constexpr int kAtOnce = 32 / kChunks > 0 ? 32 / kChunks : 1;  // rows of one pass
      constexpr int kPasses = (32 + kAtOnce - 1) / kAtOnce;
      constexpr int kParts = (kChunks + 31) / 32;  // passes that a row takes
#pragma unroll 8
      for (int pass = 0; pass < kPasses; ++pass) {
        const int r = pass * kAtOnce + (kAtOnce > 1 ? row.lane / kChunks : 0);
        const Index column = __shfl_sync(0xffffffffU, entry.column, r & 31);
        if (kAtOnce > 1 && (row.lane >= kAtOnce * kChunks || r >= 32)) continue;
        if (first + r >= 16 * row.tiles) continue;
#pragma unroll
        for (int part = 0; part < kParts; ++part) {
          const int chunk = kAtOnce > 1 ? row.lane % kChunks : row.lane + 32 * part;
          if (kAtOnce == 1 && kChunks % 32 != 0 && chunk >= kChunks) continue;
          copy_16_async(row.table + (first + r) * kPitch + chunk * 16,
                        table + static_cast<std::size_t>(column) * (kPadded * 2) + chunk * 16,
                        first + r < task.count);
        }
      }
    }
    commit_copies();
    return warp_sum(constant);
  }

  /// The two parts of scale * x, in shared memory.
  static __device__ __forceinline__ void cut(const Row& row, const Memory& memory, const Lane& x,
                                             float scale) {
    __syncwarp();
#pragma unroll
    for (int e = 0; e < kOwn; e += 2) {
      const int at = row.lane * kOwn + e;
      if (at < kPadded) {
        const float2 pair = make_float2(scale * x[e], scale * x[e + 1]);
        const __half2 high = __float22half2_rn(pair);
        const float2 rounded = __half22float2(high);
        *reinterpret_cast<__half2*>(memory.parts + at) = high;
        *reinterpret_cast<__half2*>(memory.parts + kPadded + at) =
            __floats2half2_rn(pair.x - rounded.x, pair.y - rounded.y);
      }
    }
    __syncwarp();
  }

  /// A right operand: parts of 16 numbers in its columns 0 and 1.
  static __device__ __forceinline__ void load_parts(std::uint32_t (&b)[2], const Row& row,
                                                    const __half* parts, int stride) {
    b[0] = b[1] = 0U;
    if (row.g < 2) Format::load_weights(b, parts + row.g * stride, row.lane);
  }

  /// The right operands of all strips, for vectors short enough to keep them in registers.
  using Operands = std::uint32_t[kStrips][2];

  /// q of the tile's interactions g and g + 8, in the lanes t = 0.
  static __device__ __forceinline__ float2 multiply_tile(const Row& row, const Operands& b,
                                                         int tile) {
    float q[2][4] = {};
    const std::uint32_t at =
        row.table + tile * 16 * kPitch + (row.lane & 15) * kPitch + (row.lane >> 4) * 16;
#pragma unroll
    for (int c = 0; c < kStrips; ++c) {
      Strip a;
      load_matrices(a, at + 32 * c);
      mma_half(q[c & 1], a, b[c][0], b[c][1]);
    }
    return make_float2((q[0][0] + q[1][0]) + (q[0][1] + q[1][1]),
                       (q[0][2] + q[1][2]) + (q[0][3] + q[1][3]));
  }

  /// y += V^T u over the tile, for u of interactions g and g + 8 in the lanes t = 0.
  static __device__ __forceinline__ void add_tile(const Row& row, const Memory& memory, int tile,
                                                  float2 u, float (&y)[kStrips][4]) {
    __syncwarp();
    if (row.t == 0) {
      const __half upper = __float2half_rn(u.x);
      const __half lower = __float2half_rn(u.y);
      memory.tile_parts[row.g] = upper;
      memory.tile_parts[row.g + 8] = lower;
      memory.tile_parts[16 + row.g] = __float2half_rn(u.x - __half2float(upper));
      memory.tile_parts[16 + row.g + 8] = __float2half_rn(u.y - __half2float(lower));
    }
    __syncwarp();
    std::uint32_t b[2];
    load_parts(b, row, memory.tile_parts, 16);
#pragma unroll
    for (int c = 0; c < kStrips; ++c) {
      Strip a;
      Format::load(a, row.table + tile * 16 * kPitch, kPitch, 16 * c, row.lane);
      mma_half(y[c], a, b[0], b[1]);
    }
  }

  /// The warps' parts of y, added: in all warps.
  static __device__ __forceinline__ void add_up(const Row& row, const Memory& memory, int turn,
                                                const float (&y)[kStrips][4], Lane& out) {
    constexpr int kStride = kPadded;
    float* mine = memory.sums + (turn * kWarps + row.warp) * kStride;
#pragma unroll
    for (int c = 0; c < kStrips; ++c) {
      if (row.t == 0) {
        mine[16 * c + row.g] = y[c][0] + y[c][1];
        mine[16 * c + 8 + row.g] = y[c][2] + y[c][3];
      }
    }
    synchronize();
#pragma unroll
    for (int e = 0; e < kOwn; ++e) out[e] = 0.0F;
#pragma unroll
    for (int warp = 0; warp < kWarps; ++warp) {
      const float* from = memory.sums + (turn * kWarps + warp) * kStride;
#pragma unroll
      for (int e = 0; e < kOwn; e += 2) {
        const int at = row.lane * kOwn + e;
        if (at < kPadded) {
          const float2 pair = *reinterpret_cast<const float2*>(from + at);
          out[e] += pair.x;
          out[e + 1] += pair.y;
        }
      }
    }
  }

  /// product = V^T w V x
  static __device__ __forceinline__ void multiply(const Row& row, const Memory& memory,
                                                  const RowProblem& problem, const Lane& x,
                                                  int turn, Lane& product) {
    const float norm = Vectors::dot(x, x);
    const float scale = norm > 0.0F ? kNorm * rsqrtf(norm) : 0.0F;
    // |q| <= |v| |x|, w <= its bound: what is cut into parts is at most kLargestPart.
    const float part = __fdividef(kLargestPart / kNorm, problem.row_bound);
    cut(row, memory, x, scale);
    Operands b;
#pragma unroll
    for (int c = 0; c < kStrips; ++c) load_parts(b[c], row, memory.parts + 16 * c, kPadded);
    float y[kStrips][4] = {};
    for_tiles(row, [&](int tile) {
      float2 q = multiply_tile(row, b, tile);
      q.x *= part * memory.w[16 * tile + row.g];
      q.y *= part * memory.w[16 * tile + 8 + row.g];
      add_tile(row, memory, tile, q, y);
    });
    add_up(row, memory, turn, y, product);
    const float back =
        norm > 0.0F ? __fdividef(row.bound_w, part * scale * problem.scale * problem.scale) : 0.0F;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) product[e] *= back;
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, const RowTask& task,
                                             unsigned char* shared, int capacity) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const Memory memory(shared, capacity, warp);
    const RowBounds bounds(problem, task.row);
    const Row row{(task.count + 15) / 16, bounds.w, warp, lane, lane >> 2, lane & 3,
                  shared_address(shared)};
    float constant = gather(problem, task, row, bounds, memory);
    if constexpr (kWarps > 1) {
      if (lane == 0) memory.sums[warp] = constant;
    }
    wait_for_copies<0>();
    synchronize();
    if constexpr (kWarps > 1) {
      constant = 0.0F;
#pragma unroll
      for (int i = 0; i < kWarps; ++i) constant += memory.sums[i];
      synchronize();
    }
    // The right-hand side, V^T v.
    float y[kStrips][4] = {};
    for_tiles(row, [&](int tile) {
      add_tile(row, memory, tile,
               make_float2(memory.v[16 * tile + row.g], memory.v[16 * tile + 8 + row.g]), y);
    });
    Lane r;
    add_up(row, memory, problem.warm ? 0 : 1, y, r);  // not the turn that solve() begins with
    const float right_scale = __fdividef(bounds.v, problem.scale);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) r[e] *= right_scale;
    solve_row(Vectors(), problem, task.row, problem.warm, r, RowTotals{constant},
              [&](const Lane& x, int step, Lane& product, bool) {
                multiply(row, memory, problem, x, step & 1, product);
              });
  }
};

template <int kStrips, int kWarps>
__global__ void __launch_bounds__(32 * kWarps)
    product_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks, int capacity) {
  extern __shared__ __align__(16) unsigned char shared[];
  RowProducts<kStrips, kWarps>::run(problem, tasks[blockIdx.x], shared, capacity);
}

}  // namespace likewise::cuda
