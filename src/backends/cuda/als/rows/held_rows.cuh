// SPDX-License-Identifier: Apache-2.0
/// Rows of middle length by conjugate gradients without a matrix: the row's factor rows are left
/// operands of tensor cores that stay in the registers of its warps for all steps, so that q = V p
/// reads nothing; y = V^T (w q) takes the same numbers turned. Blocks stay on their multiprocessor:
/// half of the warps solve, the others bring the next rows by bulk copies.
///
/// Right operands have one column that counts eight times: every lane of a quad gets the product,
/// and nothing is added over lanes. The vectors p and u = w q are rounded to one float16 number
/// each, as the stored factors are; all else is float32.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/gradients.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/device/bulk_copy.cuh"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

/// kWarps warps solve a row; each holds kTiles tiles of 16 interactions, dealt in turn.
template <int kStripCount, int kWarpCount, int kTileCount>
struct HeldShape {
  static constexpr int kStrips = kStripCount;  ///< of 16 columns
  static constexpr int kWarps = kWarpCount;
  static constexpr int kTiles = kTileCount;
  static constexpr int kColumns = 16 * kStrips;
  static constexpr int kInteractions = 16 * kWarps * kTiles;  ///< of a row, at most
  static constexpr int kSolvers = 8;                ///< warps of a block that solve; as many bring
  static constexpr int kSlots = kSolvers / kWarps;  ///< rows that a block solves at a time
  static constexpr int kThreads = 64 * kSolvers;

  static constexpr int kPitch = 2 * kColumns + 16;  ///< of a factor row, bytes
  static constexpr int kTileBytes = 16 * kPitch;
  /// A warp's part of y: a line for each eighth of the columns, and scalars behind them. Half lines
  /// begin in different banks.
  static constexpr int kLine = (2 * kStrips + 3) / 8 * 8 + 4;
  static constexpr int kScalars = 8 * kLine;
  static constexpr int kPart = kScalars + 4;                   ///< floats
  static constexpr int kParts = kWarps > 1 ? 2 : 1;            ///< in turn, where warps meet
  static constexpr int kOperandLine = kStrips > 8 ? 144 : 80;  ///< bytes of p, a quarter of it
  static constexpr int kValues = 16 * kTiles + 4;  ///< floats: values, and what is the row's

  // ---- shared memory, for a number of buffers of factor rows
  __host__ __device__ static constexpr int parts_at(int buffers) {
    return kSolvers * buffers * kTiles * kTileBytes;
  }
  __host__ __device__ static constexpr int operands_at(int buffers) {
    return parts_at(buffers) + kSolvers * kParts * kPart * 4;
  }
  __host__ __device__ static constexpr int starts_at(int buffers) {
    return operands_at(buffers) + kSolvers * 4 * kOperandLine;
  }
  __host__ __device__ static constexpr int values_at(int buffers) {
    return starts_at(buffers) + kSlots * 2 * kColumns * 4;
  }
  __host__ __device__ static constexpr int diagonals_at(int buffers) {
    return values_at(buffers) + kSolvers * buffers * kValues * 4;
  }
  __host__ __device__ static constexpr int barriers_at(int buffers) {
    return diagonals_at(buffers) + 2 * kColumns * 4;
  }
  __host__ __device__ static constexpr int bytes(int buffers) {
    return barriers_at(buffers) + kSolvers * (2 + buffers) * 8;
  }

  static constexpr int kSharedMemory = 227 << 10;  ///< that a block may have
  /// With two buffers a row is brought while the one before it is solved and read turned from
  /// shared memory; with one, it is turned in registers, and the next may come at once.
  static constexpr int kBuffers = bytes(2) <= kSharedMemory ? 2 : 1;
  static_assert(bytes(kBuffers) <= kSharedMemory);
  static constexpr bool kTurnsInRegisters = kBuffers == 1;
  /// Registers of a thread that brings; those that solve have the rest of twice 128.
  static constexpr int kBringerRegisters = kTurnsInRegisters ? 24 : 32;
  static constexpr int kSolverRegisters = 256 - kBringerRegisters;
};

/// Where a warp's things lie in shared memory.
template <class Shape>
struct HeldMemory {
  int warp, slot, member;  ///< of the block's rows, of the row's warps
  std::uint32_t table;     ///< [kBuffers][kTiles][16] factor rows
  float* parts;            ///< the row's: [kParts][kWarps][kPart]
  unsigned char* operands;
  const float* starts;  ///< the row's: [2][kColumns]
  float* values;        ///< [kBuffers][kValues]
  float* base;
  float* shrink;
  std::uint32_t barriers;        ///< full [2], empty [kBuffers]
  std::uint32_t first_barriers;  ///< of the row's first warp, which has the start

  __device__ __forceinline__ explicit HeldMemory(unsigned char* shared) {
    constexpr int kBuffers = Shape::kBuffers;
    warp = static_cast<int>(threadIdx.x) / 32 % Shape::kSolvers;
    slot = warp / Shape::kWarps;
    member = warp % Shape::kWarps;
    table = shared_address(shared) + warp * kBuffers * Shape::kTiles * Shape::kTileBytes;
    parts = reinterpret_cast<float*>(shared + Shape::parts_at(kBuffers)) +
            slot * Shape::kParts * Shape::kWarps * Shape::kPart;
    operands = shared + Shape::operands_at(kBuffers) + warp * 4 * Shape::kOperandLine;
    starts = reinterpret_cast<const float*>(shared + Shape::starts_at(kBuffers)) +
             slot * 2 * Shape::kColumns;
    values = reinterpret_cast<float*>(shared + Shape::values_at(kBuffers)) +
             warp * kBuffers * Shape::kValues;
    base = reinterpret_cast<float*>(shared + Shape::diagonals_at(kBuffers));
    shrink = base + Shape::kColumns;
    const std::uint32_t all = shared_address(shared + Shape::barriers_at(kBuffers));
    barriers = all + warp * (2 + kBuffers) * 8;
    first_barriers = all + slot * Shape::kWarps * (2 + kBuffers) * 8;
  }
  static __device__ __forceinline__ int buffer(int turn) { return turn % Shape::kBuffers; }
  /// Of the phase of a turn, where a barrier serves every `period`-th.
  static __device__ __forceinline__ std::uint32_t parity(int turn, int period) {
    return static_cast<std::uint32_t>(turn / period) & 1U;
  }
  // Two in turn, whatever the buffers: a warp that comes late to a row still finds its phase, as
  // the row after the next is not brought before all warps have met in this one.
  __device__ __forceinline__ void wait_until_full(int turn) const {
    wait_for_phase(barriers + turn % 2 * 8, parity(turn, 2));
  }
  __device__ __forceinline__ void wait_until_first_is_full(int turn) const {
    wait_for_phase(first_barriers + turn % 2 * 8, parity(turn, 2));
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t full(int turn) const {
    return barriers + turn % 2 * 8;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t empty(int turn) const {
    return barriers + (2 + buffer(turn)) * 8;
  }
  /// Until the solving warp has no more use for what the buffer of this turn had.
  __device__ __forceinline__ void wait_until_empty(int turn) const {
    if (turn >= Shape::kBuffers) {
      wait_patiently(empty(turn), parity(turn - Shape::kBuffers, Shape::kBuffers));
    }
  }
};

/// A row's numbers that are the same for all its interactions.
struct HeldRow {
  Index row;
  int count;
  float bound_w;
  float lambda;
};

/// Brings the part of each row that the solving warp of the same number has.
template <class Shape>
struct HeldBringer {
  static constexpr int kPairs = (Shape::kTiles + 1) / 2;  ///< tiles of a lane's half

  const RowProblem& problem;
  const RowTask* tasks;
  int count;
  HeldMemory<Shape> memory;
  int lane = static_cast<int>(threadIdx.x) % 32;

  [[nodiscard]] __device__ __forceinline__ RowTask task(int i) const {
    RowTask found;  // of no interactions
    if (i < count) {
      found.row = __ldg(&tasks[i].row);
      found.count = __ldg(&tasks[i].count);
      found.begin = __ldg(&tasks[i].begin);
    }
    return found;
  }
  [[nodiscard]] __device__ __forceinline__ int tile(int pair) const {
    return 2 * pair + (lane >> 4);
  }
  /// This lane's interactions: one of each pair of tiles; column -1 where there is none.
  __device__ __forceinline__ void fetch(const RowTask& from, RowEntry (&entries)[kPairs]) const {
#pragma unroll
    for (int pair = 0; pair < kPairs; ++pair) {
      const int i = 16 * (tile(pair) * Shape::kWarps + memory.member) + (lane & 15);
      entries[pair] = {-1, 0.0F};
      if (i < from.count && tile(pair) < Shape::kTiles) {
        const int2 both = __ldg(reinterpret_cast<const int2*>(problem.entries + from.begin + i));
        entries[pair] = {both.x, __int_as_float(both.y)};
      }
    }
  }

  __device__ __forceinline__ void run(int first, int stride) {
    const auto* const table = static_cast<const unsigned char*>(problem.table);
    RowTask now = task(first);
    RowTask next = task(first + stride);
    RowEntry entries[kPairs];
    fetch(now, entries);
    for (int i = first, turn = 0; i < count; i += stride, ++turn) {
      memory.wait_until_empty(turn);
      float* const values = memory.values + memory.buffer(turn) * Shape::kValues;
      int mine = 0;
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        const bool there = entries[pair].column >= 0;
        float value = entries[pair].value;
        if (problem.weights.explicit_feedback && there) {
          const float* const bias = problem.weights.bias;
          value = rating_target(value, problem.weights.mean,
                                bias == nullptr ? 0.0F : __ldg(bias + entries[pair].column));
        }
        if (tile(pair) < Shape::kTiles) values[32 * pair + lane] = value;
        mine += __popc(__ballot_sync(0xffffffffU, there));
      }
      if (lane == 0) {
        float* const row = values + 16 * Shape::kTiles;
        row[0] = __int_as_float(now.row);
        row[1] = __int_as_float(now.count);
        row[2] = problem.weights.explicit_feedback ? 1.0F : __ldg(problem.largest + now.row);
        row[3] = __ldg(problem.regularization + now.row);
      }
      __syncwarp();
      const bool starts = problem.warm && memory.member == 0;
      if (lane == 0) {
        arrive_expecting(memory.full(turn),
                         mine * 2 * Shape::kColumns + (starts ? 4 * Shape::kColumns : 0));
        if (starts) {
          copy_bulk(shared_address(memory.starts + turn % 2 * Shape::kColumns),
                    problem.solutions + Offset{now.row} * Shape::kColumns, 4 * Shape::kColumns,
                    memory.full(turn));
        }
      }
      __syncwarp();
      const std::uint32_t to = memory.table +
                               memory.buffer(turn) * Shape::kTiles * Shape::kTileBytes +
                               (lane & 15) * Shape::kPitch;
#pragma unroll
      for (int pair = 0; pair < kPairs; ++pair) {
        if (entries[pair].column >= 0) {
          copy_bulk(to + tile(pair) * Shape::kTileBytes,
                    table + static_cast<std::size_t>(entries[pair].column) * (2 * Shape::kColumns),
                    2 * Shape::kColumns, memory.full(turn));
        }
      }
      now = next;
      fetch(now, entries);
      next = task(i + 2 * stride);
    }
  }
};

/// Solves rows.
template <class Shape>
struct HeldSolver {
  static constexpr int kStrips = Shape::kStrips;
  static constexpr int kWarps = Shape::kWarps;
  static constexpr int kTiles = Shape::kTiles;
  static constexpr int kSets = (kStrips + 7) / 8;
  static constexpr int kOwn = 4 * kSets;
  static constexpr float kLeastNorm = 64.0F;  ///< of p as it is rounded, half of the most
  /// Numbers of a vector in a lane: for each set s the columns 16 (j + 8 s) + 2 k and the next, and
  /// both 8 further on.
  using Lane = float[kOwn];
  /// By interaction g and g + 8 of each tile.
  using PerTile = float[kTiles][2];
  static constexpr int kAhead = kTiles * kStrips <= 24 ? 8 : 4;  ///< turned operands under way
  static constexpr int kChains = kTiles >= 4 ? 1 : 2;            ///< sums of a tile's product

  const RowProblem& problem;
  HeldMemory<Shape> memory;
  int lane = static_cast<int>(threadIdx.x) % 32;
  int part_turn = 0;
  std::uint32_t table = 0;  ///< of this turn

  std::uint32_t held[kTiles][kStrips][4];  ///< the factor rows, as left operands
  std::uint32_t ahead[kAhead][4];
  float y[kStrips][4];
  PerTile w;
  PerTile q;
  PerTile u;

  [[nodiscard]] __device__ __forceinline__ int g() const { return lane >> 2; }
  [[nodiscard]] __device__ __forceinline__ int t() const { return lane & 3; }
  [[nodiscard]] __device__ __forceinline__ int k() const {
    return ((lane >> 4) & 1) | (((lane >> 3) & 1) << 1);
  }
  [[nodiscard]] __device__ __forceinline__ int j() const { return lane & 7; }
  [[nodiscard]] __device__ __forceinline__ bool owns(int set) const {
    return kStrips % 8 == 0 || j() + 8 * set < kStrips;
  }
  [[nodiscard]] __device__ __forceinline__ int column(int set) const {
    return 16 * (j() + 8 * set) + 2 * k();
  }

  // ---- vectors
  /// `from` in shared memory. Read again at every call: registers are short.
  __device__ __forceinline__ void load(Lane& to, const float* from) const {
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      float a = 0.0F;
      float b = 0.0F;
      float c = 0.0F;
      float d = 0.0F;
      if (owns(s)) {
        const std::uint32_t at = shared_address(from + column(s));
        asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];\n" : "=f"(a), "=f"(b) : "r"(at));
        asm volatile("ld.shared.v2.f32 {%0,%1}, [%2];\n" : "=f"(c), "=f"(d) : "r"(at + 32));
      }
      to[4 * s] = a;
      to[4 * s + 1] = b;
      to[4 * s + 2] = c;
      to[4 * s + 3] = d;
    }
  }
  __device__ __forceinline__ void store(float* to, const Lane& from) const {
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      if (owns(s)) {
        auto* const at = reinterpret_cast<float2*>(to + column(s));
        at[0] = make_float2(from[4 * s], from[4 * s + 1]);
        at[4] = make_float2(from[4 * s + 2], from[4 * s + 3]);
      }
    }
  }
  static __device__ __forceinline__ float part_of_dot(const Lane& a, const Lane& b) {
    float sum = 0.0F;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) sum = fmaf(a[e], b[e], sum);
    return sum;
  }
  /// The power of two by which a vector of this norm gets one from kLeastNorm to twice that.
  static __device__ __forceinline__ float scale_of(float norm) {
    constexpr std::uint32_t kExponents = 127 + 127 + 6;
    static_assert(kLeastNorm == 64.0F);
    const std::uint32_t exponent = as<std::uint32_t>(norm) >> 23;
    return norm > 0.0F ? as<float>((kExponents - exponent) << 23) : 0.0F;
  }

  /// The power of two by which numbers up to `bound` stay below 16384: whole numbers up to 2048, as
  /// most targets of likes are, are not rounded then.
  static __device__ __forceinline__ float scale_to_range(float bound) {
    constexpr int kExponents = 127 + 127 + 13;
    const int exponent = static_cast<int>(as<std::uint32_t>(bound) >> 23);
    return as<float>(static_cast<std::uint32_t>(kExponents - min(max(exponent, 14), 266)) << 23);
  }

  // ---- products with the row's factor rows
  using Operands = std::uint32_t[kStrips][2];

  /// scale * p, rounded, as right operands.
  __device__ __forceinline__ void round(const Lane& p, float scale, Operands& to) const {
    constexpr int kPitch = Shape::kOperandLine;
    __syncwarp();
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      const __half2 first = __floats2half2_rn(p[4 * s] * scale, p[4 * s + 1] * scale);
      const __half2 second = __floats2half2_rn(p[4 * s + 2] * scale, p[4 * s + 3] * scale);
      if (owns(s)) {
        *reinterpret_cast<uint2*>(memory.operands + k() * kPitch + (j() + 8 * s) * 8) =
            make_uint2(as<std::uint32_t>(first), as<std::uint32_t>(second));
      }
    }
    __syncwarp();
#pragma unroll
    for (int c = 0; c < kStrips; c += 2) {
      const uint4 two = *reinterpret_cast<const uint4*>(memory.operands + t() * kPitch + 8 * c);
      to[c][0] = two.x;
      to[c][1] = two.y;
      if (c + 1 < kStrips) {
        to[c + 1 < kStrips ? c + 1 : c][0] = two.z;
        to[c + 1 < kStrips ? c + 1 : c][1] = two.w;
      }
    }
  }

  /// q = V p.
  __device__ __forceinline__ void multiply(const Operands& p) {
    float sums[kTiles][kChains][4] = {};
#pragma unroll
    for (int c = 0; c < kStrips; ++c) {
#pragma unroll
      for (int i = 0; i < kTiles; ++i) mma_half(sums[i][c % kChains], held[i][c], p[c][0], p[c][1]);
    }
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        q[i][h] = sums[i][0][2 * h];
        if constexpr (kChains > 1) q[i][h] += sums[i][kChains - 1][2 * h];
      }
    }
  }

  /// Asks for a turned operand from shared memory, number i in order of use.
  __device__ __forceinline__ void ask(int i) {
    if constexpr (!Shape::kTurnsInRegisters) {
      if (i < kTiles * kStrips) {
        const int row = (lane & 7) | ((lane >> 4) << 3);
        load_turned_matrices(ahead[i % kAhead], table + (i / kStrips) * Shape::kTileBytes +
                                                    row * Shape::kPitch + ((lane >> 3) & 1) * 16 +
                                                    32 * (i % kStrips));
      }
    }
  }
  __device__ __forceinline__ void ask_first() {
#pragma unroll
    for (int i = 0; i < kAhead; ++i) ask(i);
  }

  /// This warp's part of y = V^T u to shared memory; behind ask_first().
  __device__ __forceinline__ void collect() {
    std::uint32_t operand[kTiles][2];
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
      const auto mine = as<std::uint32_t>(__floats2half2_rn(u[i][0], u[i][1]));
      const std::uint32_t even = __shfl_sync(0xffffffffU, mine, 8 * t());
      const std::uint32_t odd = __shfl_sync(0xffffffffU, mine, 8 * t() + 4);
      operand[i][0] = __byte_perm(even, odd, 0x5410);
      operand[i][1] = __byte_perm(even, odd, 0x7632);
    }
#pragma unroll
    for (int c = 0; c < kStrips; ++c) y[c][0] = y[c][1] = y[c][2] = y[c][3] = 0.0F;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int c = 0; c < kStrips; ++c) {
        if constexpr (Shape::kTurnsInRegisters) {
          const auto& z = held[i][c];
          const std::uint32_t turned[4] = {turn_matrix(z[0]), turn_matrix(z[2]), turn_matrix(z[1]),
                                           turn_matrix(z[3])};
          mma_half(y[c], turned, operand[i][0], operand[i][1]);
        } else {
          const int at = i * kStrips + c;
          mma_half(y[c], ahead[at % kAhead], operand[i][0], operand[i][1]);
          ask(at + kAhead);
        }
      }
    }
    float* const to = part(memory.member) + g() * Shape::kLine;
    if (t() == 0) {
#pragma unroll
      for (int c = 0; c + 1 < kStrips; c += 2) {
        *reinterpret_cast<float4*>(to + 2 * c) =
            make_float4(y[c][0], y[c][2], y[c + 1][0], y[c + 1][2]);
      }
      if constexpr (kStrips % 2 == 1) {
        *reinterpret_cast<float2*>(to + 2 * kStrips - 2) =
            make_float2(y[kStrips - 1][0], y[kStrips - 1][2]);
      }
    }
  }

  // ---- between the warps of a row
  [[nodiscard]] __device__ __forceinline__ float* part(int member) const {
    return memory.parts + (part_turn * kWarps + member) * Shape::kPart;
  }
  __device__ __forceinline__ void hand_out(int scalar, float value) const {
    if (lane == 0) part(memory.member)[Shape::kScalars + scalar] = value;
  }
  __device__ __forceinline__ void meet() const {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      asm volatile("bar.sync %0, %1;\n" ::"r"(memory.slot + 1), "n"(32 * kWarps) : "memory");
    }
  }
  [[nodiscard]] __device__ __forceinline__ float take(int scalar) const {
    float sum = 0.0F;
#pragma unroll
    for (int m = 0; m < kWarps; ++m) sum += part(m)[Shape::kScalars + scalar];
    return sum;
  }
  __device__ __forceinline__ void take(Lane& to) const {
#pragma unroll
    for (int e = 0; e < kOwn; ++e) to[e] = 0.0F;
#pragma unroll
    for (int s = 0; s < kSets; ++s) {
      if (!owns(s)) continue;
#pragma unroll
      for (int m = 0; m < kWarps; ++m) {
        const float* const from = part(m) + 2 * k() * Shape::kLine + 2 * (j() + 8 * s);
        const float2 even = *reinterpret_cast<const float2*>(from);
        const float2 odd = *reinterpret_cast<const float2*>(from + Shape::kLine);
        to[4 * s] += even.x;
        to[4 * s + 1] += odd.x;
        to[4 * s + 2] += even.y;
        to[4 * s + 3] += odd.y;
      }
    }
  }
  /// What was taken has been used.
  __device__ __forceinline__ void turn_parts() {
    if constexpr (Shape::kParts > 1) part_turn ^= 1;
  }
  /// The warp that brings may overwrite this turn's buffer.
  __device__ __forceinline__ void release(int turn) const {
    __syncwarp();
    if (lane == 0) arrive(memory.empty(turn));
  }

  /// What the row's matrix has besides the sums, and what solves with it (load_diagonals()).
  __device__ __forceinline__ void load_diagonals(const HeldRow& row, Lane& diagonal,
                                                 Lane& inverse) const {
    const bool is_explicit = problem.weights.explicit_feedback;
    const float own = is_explicit ? 0.0F : 1.0F;
    const float expected = is_explicit ? static_cast<float>(row.count) : 1.0F;
    Lane base;
    Lane shrink;
    load(base, memory.base);
    load(shrink, memory.shrink);
#pragma unroll
    for (int e = 0; e < kOwn; ++e) {
      diagonal[e] = fmaf(own, base[e], row.lambda * shrink[e]);
      const float all =
          problem.limits.plain ? shrink[e] : fmaf(expected, base[e], row.lambda * shrink[e]);
      inverse[e] = all > 0.0F ? __fdividef(1.0F, all) : 0.0F;
    }
  }

  // ---- a row
  __device__ __forceinline__ void solve(int turn) {
    const float* const values = memory.values + memory.buffer(turn) * Shape::kValues;
    table = memory.table + memory.buffer(turn) * Shape::kTiles * Shape::kTileBytes;
    const RowWeights& how = problem.weights;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int c = 0; c < kStrips; ++c) {
        load_matrices(held[i][c], table + i * Shape::kTileBytes + (lane & 15) * Shape::kPitch +
                                      (lane >> 4) * 16 + 32 * c);
      }
    }
    const float4 of_row = *reinterpret_cast<const float4*>(values + 16 * kTiles);
    const HeldRow row{__float_as_int(of_row.x), __float_as_int(of_row.y), of_row.z, of_row.w};
    float constant = 0.0F;
#pragma unroll
    for (int i = 0; i < kTiles; ++i) {
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float value = values[16 * i + 8 * h + g()];
        float v = value;
        if (how.explicit_feedback) {
          const int at = 16 * (i * kWarps + memory.member) + 8 * h + g();
          w[i][h] = at < row.count ? 1.0F : 0.0F;
          constant = fmaf(v, v, constant);
        } else {
          w[i][h] = fabsf(value);
          v = value > 0.0F ? like_target(how.slope, value) : 0.0F;
          constant += v;
        }
        u[i][h] = v;
      }
    }
    Lane x;
#pragma unroll
    for (int e = 0; e < kOwn; ++e) x[e] = 0.0F;
    if (problem.warm) load(x, memory.starts + turn % 2 * Shape::kColumns);
    if constexpr (Shape::kTurnsInRegisters) {
      // The operands must have come before their place is given away.
#pragma unroll
      for (int i = 0; i < kTiles; ++i) asm volatile("" ::"r"(held[i][kStrips - 1][3]));
      release(turn);
    }

    // The residual of the start, r = V^T (v - w V x) - D x.
    const float inverse_scale = __fdividef(1.0F, problem.scale);
    const float bound_v =
        how.explicit_feedback ? how.target_scale : like_target(how.slope, row.bound_w);
    float bound_u = bound_v;
    float reached = 0.0F;  // x^T V^T v
    if (problem.warm) {
      const float norm = sqrtf(tensor_sum(part_of_dot(x, x)));
      const float scale = scale_of(norm);
      const float back = scale > 0.0F ? __fdividef(inverse_scale, scale) : 0.0F;
      Operands operands;
      round(x, scale, operands);
      ask_first();
      multiply(operands);
      bound_u = fmaf(row.bound_w * problem.row_bound * inverse_scale, norm, bound_u);
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float product = q[i][h] * back;
          reached = fmaf(u[i][h], product, reached);
          u[i][h] = fmaf(-w[i][h], product, u[i][h]);
        }
      }
    } else {
      ask_first();
    }
    const float cut = scale_to_range(bound_u);
#pragma unroll
    for (int i = 0; i < kTiles; ++i) u[i][0] *= cut, u[i][1] *= cut;
    constant = 0.25F * tensor_sum(constant);  // four lanes have the same
    reached = 0.25F * tensor_sum(reached);
    hand_out(0, constant);
    hand_out(1, reached);
    collect();
    meet();
    constant = take(0);
    reached = take(1);
    Lane r;
    take(r);
    turn_parts();

    const RowLimits& limits = problem.limits;
    float won = 0.0F;
    const auto unseen = [&] { return limits.unseen(constant, won); };
    Lane p;
    float rho = 0.0F;       // r^T (preconditioner) r
    float bound_p = 0.0F;   // of p's norm
    float own_part = 0.0F;  // this lane's of p^T D p
    {
      const float back = __fdividef(inverse_scale, cut);
      Lane diagonal;
      Lane inverse;
      load_diagonals(row, diagonal, inverse);
      float start = 0.0F;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) {
        r[e] = fmaf(r[e], back, -diagonal[e] * x[e]);
        start = fmaf(x[e], r[e], start);
        p[e] = inverse[e] * r[e];
        own_part = fmaf(diagonal[e] * p[e], p[e], own_part);
      }
      rho = tensor_sum(part_of_dot(r, p));
      bound_p = sqrtf(tensor_sum(part_of_dot(p, p)));
      won = reached + tensor_sum(start);
    }
    const float enough = fmaxf(limits.residual * limits.residual, 1e-14F) * rho;
    bool positive = true;
    bool freed = Shape::kTurnsInRegisters;
    bool goes_on = !problem.warm || rho > unseen();
    if (!goes_on) positive = isfinite(rho);
    // What the step after the next would win, foretold: a step that is the last needs no residual.
    float foretold = 3e38F;
    for (int step = 0; goes_on && step < limits.steps; ++step) {
      if (!(rho > kNothingToWin)) {
        positive = rho >= 0.0F;
        break;
      }
      const bool last = foretold <= unseen() || step + 1 == limits.steps;
      const float scale = scale_of(bound_p);
      const float back = __fdividef(inverse_scale, scale);
      {
        Operands operands;
        round(p, scale, operands);
        ask_first();
        multiply(operands);
      }
      const float step_cut = scale_to_range(2.0F * kLeastNorm * row.bound_w * problem.row_bound);
      float curvature = 0.0F;
#pragma unroll
      for (int i = 0; i < kTiles; ++i) {
#pragma unroll
        for (int h = 0; h < 2; ++h) {
          const float product = w[i][h] * q[i][h];
          curvature = fmaf(product, q[i][h], curvature);
          u[i][h] = product * step_cut;
        }
      }
      curvature *= 0.25F * back * back;
      if (memory.member == 0) curvature += own_part;
      if (last) {
        if (!freed) release(turn);
        freed = true;
      }
      hand_out(0, tensor_sum(curvature));
      if (!last) collect();
      meet();
      curvature = take(0);
      if (!(curvature > 0.0F) || !isfinite(curvature) || !isfinite(rho)) {
        positive = false;
        turn_parts();
        break;
      }
      const float alpha = __fdividef(rho, curvature);
      won = fmaf(alpha, rho, won);
#pragma unroll
      for (int e = 0; e < kOwn; ++e) x[e] = fmaf(alpha, p[e], x[e]);
      if (last) {
        turn_parts();
        break;
      }
      Lane product;
      take(product);
      turn_parts();
      const float back_u = __fdividef(back * inverse_scale, step_cut);
      Lane diagonal;
      Lane inverse;
      load_diagonals(row, diagonal, inverse);
      Lane direction;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) {
        r[e] = fmaf(-alpha, fmaf(product[e], back_u, diagonal[e] * p[e]), r[e]);
        direction[e] = inverse[e] * r[e];
      }
      const float next = tensor_sum(part_of_dot(r, direction));
      const float norm = sqrtf(tensor_sum(part_of_dot(direction, direction)));
      // The next step wins about its own alpha times next (take_step()).
      const float left = sqrtf(alpha) * next;
      if (!(left > unseen()) || next <= enough) break;
      const float beta = __fdividef(next, rho);
      foretold = limits.decrease > 0.0F ? 2.0F * left * beta : foretold;
      rho = next;
      bound_p = fmaf(beta, bound_p, norm);
      own_part = 0.0F;
#pragma unroll
      for (int e = 0; e < kOwn; ++e) {
        p[e] = fmaf(beta, p[e], direction[e]);
        own_part = fmaf(diagonal[e] * p[e], p[e], own_part);
      }
    }
    if (!freed) release(turn);
    if (memory.member > 0) return;
    store(problem.solutions + Offset{row.row} * Shape::kColumns, x);
    if (lane == 0) {
      problem.objectives[row.row] = static_cast<double>(constant) - static_cast<double>(won);
      if (!(positive && isfinite(constant))) atomicMin(problem.failed_row, row.row);
    }
  }

  __device__ __forceinline__ void run(int first, int stride, int count) {
    for (int i = first, turn = 0; i < count; i += stride, ++turn) {
      memory.wait_until_full(turn);
      if (kWarps > 1 && problem.warm) memory.wait_until_first_is_full(turn);
      solve(turn);
    }
  }
};

/// Blocks that stay; task i of all is solved by slot i % (slots of all blocks).
template <class Shape>
__global__ void __launch_bounds__(Shape::kThreads, 1)
    held_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks, int count) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(128) unsigned char shared[];
  const HeldMemory<Shape> memory(shared);
  constexpr int kTableBytes = Shape::parts_at(Shape::kBuffers);
  const int thread = static_cast<int>(threadIdx.x);
  // What no copy has filled yet is multiplied by weights of 0 and must be finite.
  for (int i = 16 * thread; i < kTableBytes; i += 16 * Shape::kThreads) {
    *reinterpret_cast<uint4*>(shared + i) = make_uint4(0U, 0U, 0U, 0U);
  }
  for (int i = thread; i < Shape::kColumns; i += Shape::kThreads) {
    memory.base[i] = problem.base[i];
    memory.shrink[i] = problem.shrink[i];
  }
  if (thread < 32 * Shape::kSolvers && thread % 32 == 0) {
    for (int i = 0; i < 2 + Shape::kBuffers; ++i) make_barrier(memory.barriers + 8 * i);
  }
  fence_bulk_copies();
  __syncthreads();
  let_next_kernel_begin();
  const int first = static_cast<int>(blockIdx.x) * Shape::kSlots + memory.slot;
  const int stride = static_cast<int>(gridDim.x) * Shape::kSlots;
  if (thread >= 32 * Shape::kSolvers) {
    give_registers<Shape::kBringerRegisters>();
    HeldBringer<Shape>{problem, tasks, count, memory}.run(first, stride);
  } else {
    take_registers<Shape::kSolverRegisters>();
    HeldSolver<Shape> solver{problem, memory};
    solver.run(first, stride, count);
  }
  wait_for_kernel_before();
#else
  __trap();
#endif
}

}  // namespace likewise::cuda
