// SPDX-License-Identifier: Apache-2.0
/// The rows of lockstep that have interactions with a good part of all columns (DenseProducts,
/// wide/dense_rows.h), on GPUs of compute capability 9.0. A block multiplies 64 of them with one
/// factor row after the other on tensor cores: Q = P V', of which U = w q - v is kept where there
/// is an interaction, and Y = U V. A factor row is brought once for 64 rows. One warp group brings
/// factor rows, one puts the interactions in their cells, two multiply.
///
/// P and U are stored as the table is, each row times a power of two. round_dense_kernel() rounds
/// what P is made from, so that the product belongs to what the row's conjugate gradients know.
#pragma once

#include "backends/cuda/als/wide/lockstep.h"
#include "backends/cuda/als/wide/stored.cuh"
#include "backends/cuda/als/wide/vectors.cuh"
#include "backends/cuda/device/bulk_copy.cuh"
#include "backends/cuda/device/group_products.cuh"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

template <class Stored>
struct DenseFormat;
template <>
struct DenseFormat<StoredHalf> {
  using Type = HalfFormat;
};
template <>
struct DenseFormat<StoredBfloat> {
  using Type = BfloatFormat;
};

/// The power of two that makes numbers up to `largest` ones up to `most`.
[[nodiscard]] __device__ __forceinline__ float dense_scale(float most, float largest) {
  const float power = floorf(log2f(__fdividef(most, largest)));
  return largest > 0.0F ? exp2f(fminf(fmaxf(power, -60.0F), 60.0F)) : 1.0F;
}

/// Sizes, and places in shared memory: two stages of factor rows, P, two of U, the cells.
template <int kSlices>
struct DenseShape {
  static constexpr int kGroup = 128;  ///< threads of a warp group
  static constexpr int kThreads = 4 * kGroup;
  static constexpr int kBringerRegisters = 48;
  static constexpr int kMultiplierRegisters = 208;

  static constexpr int kColumns = kSlices * kSliceColumns;
  static constexpr int kTile = 64;  ///< factor rows of a stage
  static constexpr int kBlockBytes = kTile * kBlockRowBytes;
  static constexpr int kStageBytes = kColumns / kBlockColumns * kBlockBytes;
  static constexpr int kOwn = kColumns / 2;                     ///< columns of Y of a group
  static constexpr int kTogether = kOwn % 128 == 0 ? 128 : 64;  ///< in one product
  static constexpr int kCellPitch = kTile + 8;                  ///< floats: no bank conflicts

  static constexpr int kLeftAt = 2 * kStageBytes;
  static constexpr int kWeightsAt = kLeftAt + kStageBytes;
  static constexpr int kCellsAt = kWeightsAt + 2 * kBlockBytes;
  static constexpr int kScalesAt = kCellsAt + kDenseRows * kCellPitch * 4;
  static constexpr int kBarriersAt = kScalesAt + 2 * kDenseRows * 4;
  static constexpr int kBytes = kBarriersAt + 6 * 8;
};

/// What a block works on.
struct DensePlace {
  int first_row;  ///< of the step's
  int part;
  Index begin;  ///< factor rows
  Index end;
};

template <class Stored, int kSlices>
struct DenseKernel {
  using Shape = DenseShape<kSlices>;
  using Format = typename DenseFormat<Stored>::Type;
  using Number = typename Format::Stored;
  static constexpr int kTile = Shape::kTile;

  const RowProblem& problem;
  const LockstepBatch& batch;
  const int step;
  const DensePlace place;
  unsigned char* const shared;
  const std::uint32_t memory;  ///< the same place

  // Barriers: of the two stages, and of the cells.
  [[nodiscard]] __device__ __forceinline__ std::uint32_t filled(int stage) const {
    return memory + Shape::kBarriersAt + 8 * stage;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t emptied(int stage) const {
    return memory + Shape::kBarriersAt + 16 + 8 * stage;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t cells_filled() const {
    return memory + Shape::kBarriersAt + 32;
  }
  [[nodiscard]] __device__ __forceinline__ std::uint32_t cells_emptied() const {
    return memory + Shape::kBarriersAt + 40;
  }
  /// One arrival for a warp, whose lanes are all through.
  static __device__ __forceinline__ void warp_arrives(std::uint32_t barrier) {
    __syncwarp();
    if (threadIdx.x % 32 == 0) arrive(barrier);
  }

  [[nodiscard]] __device__ __forceinline__ float* cells(int row) const {
    return reinterpret_cast<float*>(shared + Shape::kCellsAt) + row * Shape::kCellPitch;
  }
  /// Of a row: one over what P is times, and what U is times.
  [[nodiscard]] __device__ __forceinline__ float* scales(int row) const {
    return reinterpret_cast<float*>(shared + Shape::kScalesAt) + 2 * row;
  }
  /// Whether the block has so many rows.
  [[nodiscard]] __device__ __forceinline__ bool taken(int row) const {
    return place.first_row + row < batch.dense.count;
  }
  [[nodiscard]] __device__ __forceinline__ int which(int row) const {
    return which_of(batch, place.first_row + row, step);
  }

  /// A row's numbers, those of its warp's lane: 4 (lane + 32 s) and the three beside it.
  using Row = float4[kSlices];

  /// Resecond the row's length.
  static __device__ __forceinline__ float load_row(const float* from, int padded, Row& row) {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    float squares = 0.0F;
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      const int at = s * kSliceColumns + 4 * lane;
      row[s] = at < padded ? *reinterpret_cast<const float4*>(from + at)
                           : make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      squares +=
          row[s].x * row[s].x + row[s].y * row[s].y + row[s].z * row[s].z + row[s].w * row[s].w;
    }
    return sqrtf(warp_sum(squares));
  }

  /// No number of P is larger than the first, none of U than the second.
  static constexpr float kMostLeft = 8.0F;
  static constexpr float kMostWeight = 32768.0F;

  /// Which row of the batch that of the step is.
  static __device__ __forceinline__ int which_of(const LockstepBatch& batch, int row, int step) {
    return step < 0 ? row : batch.dense.list[row];
  }

  /// What a row of P is made from, or null: zeros.
  static __device__ __forceinline__ float* vector_of(const RowProblem& problem,
                                                     const LockstepBatch& batch, int which,
                                                     int step) {
    if (step >= 0) return batch.directions + Offset{which} * problem.padded;
    if (!problem.warm) return nullptr;
    return problem.solutions + Offset{batch.rows[which].row} * problem.padded;
  }

  /// Rounds that, a warp for a row.
  static __device__ __forceinline__ void round(const RowProblem& problem,
                                               const LockstepBatch& batch, int row, int step) {
    float* const vector = vector_of(problem, batch, which_of(batch, row, step), step);
    if (vector == nullptr) return;
    Row numbers;
    const float scale = dense_scale(kMostLeft, load_row(vector, problem.padded, numbers));
    const float back = 1.0F / scale;
    const auto rounded = [&](float x) { return Format::value(Format::store(x * scale)) * back; };
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      const int at = s * kSliceColumns + 4 * static_cast<int>(threadIdx.x % 32);
      if (at >= problem.padded) continue;
      const float4& four = numbers[s];
      *reinterpret_cast<float4*>(vector + at) =
          make_float4(rounded(four.x), rounded(four.y), rounded(four.z), rounded(four.w));
    }
  }

  /// P: zeros in rows that are not taken. And the rows' scales.
  __device__ __forceinline__ void store_left() const {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    for (int r = static_cast<int>(threadIdx.x) / 32; r < kDenseRows; r += Shape::kThreads / 32) {
      Row row;
#pragma unroll
      for (int s = 0; s < kSlices; ++s) row[s] = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      float length = 0.0F;
      const int own = taken(r) ? which(r) : 0;
      const float* const vector = taken(r) ? vector_of(problem, batch, own, step) : nullptr;
      if (vector != nullptr) length = load_row(vector, problem.padded, row);
      const float scale = dense_scale(kMostLeft, length);
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        const Number numbers[4] = {Format::store(row[s].x * scale), Format::store(row[s].y * scale),
                                   Format::store(row[s].z * scale),
                                   Format::store(row[s].w * scale)};
        unsigned char* const to = shared + Shape::kLeftAt +
                                  (2 * s + lane / 16) * Shape::kBlockBytes +
                                  block_place(r, lane % 16 / 2) + lane % 2 * 8;
        *reinterpret_cast<uint2*>(to) = as<uint2>(numbers);
      }
      if (lane > 0) continue;
      scales(r)[0] = 1.0F / scale;
      scales(r)[1] =
          taken(r) ? dense_scale(kMostWeight, most_weight(batch.rows[own].row, length)) : 1.0F;
    }
  }

  /// Of |w q - v|.
  [[nodiscard]] __device__ __forceinline__ float most_weight(Index row, float length) const {
    const RowWeights& how = problem.weights;
    const float w = how.explicit_feedback ? 1.0F : __ldg(problem.largest + row);
    const float q = problem.row_bound / problem.scale * length;
    if (step >= 0) return w * q;
    return w * q + (how.explicit_feedback ? how.target_scale : like_target(how.slope, w));
  }

  /// The group of threads that brings factor rows, stage by stage; zeros behind the last.
  __device__ __forceinline__ void bring() const {
    constexpr int kUnits = Shape::kColumns / 8;
    constexpr int kTogether = Shape::kGroup / kUnits;  ///< rows
    const int thread = static_cast<int>(threadIdx.x) % Shape::kGroup;
    const auto* const table = static_cast<const unsigned char*>(problem.table);
    const std::size_t row_bytes = static_cast<std::size_t>(problem.padded) * Stored::kBytes;
    const int unit = thread % kUnits;
    const int top = thread / kUnits;
    const bool copies = top < kTogether && 8 * unit < problem.padded;
    unsigned turn = 0;
    for (Index first = place.begin; first < place.end; first += kTile, ++turn) {
      const auto stage = static_cast<int>(turn % 2);
      if (turn >= 2) wait_for_phase(emptied(stage), (turn / 2 - 1) % 2);
      const std::uint32_t to = memory + stage * Shape::kStageBytes + unit / 8 * Shape::kBlockBytes;
      const unsigned char* from = table + (first + top) * row_bytes + unit * 16;
      const int rows = copies ? place.end - first : 0;
      if (rows >= kTile) {
#pragma unroll 8
        for (int row = top; row < kTile; row += kTogether) {
          copy_16_async(to + block_place(row, unit % 8), from, true);
          from += kTogether * row_bytes;
        }
      } else if (copies) {
        for (int row = top; row < kTile; row += kTogether) {
          copy_16_async(to + block_place(row, unit % 8), row < rows ? from : table, row < rows);
          from += kTogether * row_bytes;
        }
      }
      commit_copies();
      wait_for_copies<0>();
      fence_bulk_copies();
      warp_arrives(filled(stage));
    }
  }

  /// What a cell holds where there is no interaction.
  template <bool kExplicit>
  static __device__ __forceinline__ float nothing() {
    return kExplicit ? __int_as_float(0x7fffffff) : 0.0F;
  }

  /// And where there is one: of likes the signed size, of ratings v, which only the start asks for.
  /// Adds to the row's objective at zero.
  template <bool kExplicit>
  __device__ __forceinline__ float cell_of(const int2& entry, float& constant) const {
    const RowWeights& how = problem.weights;
    const float value = __int_as_float(entry.y);
    if (step >= 0) return kExplicit ? 0.0F : value;
    if constexpr (kExplicit) {
      const float bias = how.bias == nullptr ? 0.0F : __ldg(how.bias + entry.x);
      const float v = rating_target(value, how.mean, bias);
      constant = fmaf(v, v, constant);
      return v;
    }
    if (value > 0.0F) constant += like_target(how.slope, value);
    return value;
  }

  /// Into L2.
  static __device__ __forceinline__ void prefetch(const void* at) {
    asm volatile("prefetch.global.L2 [%0];\n" ::"l"(at));
  }

  /// The group of threads that puts interactions in the cells of their columns: two for a row, each
  /// with every other interaction.
  template <bool kExplicit>
  __device__ __forceinline__ void fill_cells() const {
    constexpr int kAhead = 8;
    const int row = static_cast<int>(threadIdx.x) % Shape::kGroup / 2;
    const int second = static_cast<int>(threadIdx.x) % 2;
    const auto* next = reinterpret_cast<const int2*>(problem.entries);
    int left = 0;  ///< for this thread, from `next` on every other one
    if (taken(row)) {
      const RowTask& task = batch.rows[which(row)];
      const Offset end = task.begin + task.count;
      const Offset first = first_from(problem.entries, task.begin, end, place.begin) + second;
      next += first;
      left = static_cast<int>((end - first + 1) / 2);
    }
    int2 ahead[kAhead];
    const auto read_ahead = [&] {
#pragma unroll
      for (int i = 0; i < kAhead; ++i) {
        ahead[i] = i < left ? __ldg(next + 2 * i) : make_int2(0x7fffffff, 0);
      }
    };
    read_ahead();
    double constant = 0.0;
    const float none = nothing<kExplicit>();
    unsigned turn = 0;
    for (Index first = place.begin; first < place.end; first += kTile, ++turn) {
      float* const own = cells(row);
      if (turn > 0) wait_for_phase(cells_emptied(), (turn - 1) % 2);
#pragma unroll
      for (int i = 0; i < kTile; i += 8) {
        *reinterpret_cast<float4*>(own + i + 4 * second) = make_float4(none, none, none, none);
      }
      __syncwarp();
      int used = kAhead;
      while (used == kAhead) {
        used = 0;
        float of_constant = 0.0F;
#pragma unroll
        for (int i = 0; i < kAhead; ++i) {
          const bool here = ahead[i].x < first + kTile;
          if (here) own[ahead[i].x - first] = cell_of<kExplicit>(ahead[i], of_constant);
          used += here ? 1 : 0;
        }
        if (step < 0) constant += of_constant;
        next += 2 * used;
        left -= used;
        read_ahead();
        if (kAhead + 8 * second < left) prefetch(next + 2 * (kAhead + 8 * second));
      }
      warp_arrives(cells_filled());
    }
    constant += __shfl_xor_sync(0xffffffffU, constant, 1);
    if (step < 0 && second == 0 && taken(row)) total_of(row)[0] = constant;
  }

  [[nodiscard]] __device__ __forceinline__ double* total_of(int row) const {
    return batch.dense.totals +
           2 * (Offset{place.first_row + row} * batch.dense.part_count + place.part);
  }

  /// How the products of a row become its weights.
  struct RowScales {
    float w;      ///< of w q
    float v;      ///< of v
    float slope;  ///< of likes: of what v has of w
  };
  [[nodiscard]] __device__ __forceinline__ RowScales scales_of(int row) const {
    const float weight = scales(row)[1];
    const float v = step < 0 ? weight : 0.0F;
    return {weight * scales(row)[0] / problem.scale, v, v * problem.weights.slope};
  }

  /// A number of U, from what is in its cell and the product; adds v times the product.
  template <bool kExplicit>
  static __device__ __forceinline__ float weigh(float cell, float product, const RowScales& by,
                                                float& reached) {
    float w;
    float v;
    if constexpr (kExplicit) {
      const bool there = cell == cell;
      w = there ? by.w : 0.0F;
      v = there ? by.v * cell : 0.0F;
    } else {
      w = by.w * fabsf(cell);
      v = cell > 0.0F ? fmaf(by.slope, cell, by.v) : 0.0F;
    }
    reached = fmaf(v, product, reached);
    return fmaf(w, product, -v);
  }

  /// U of a stage: this group's half of the factor rows, from the products in its registers.
  template <bool kExplicit>
  __device__ __forceinline__ void store_weights(const float (&q)[16], int stage, int group,
                                                const RowScales (&by)[2],
                                                double (&reached)[2]) const {
    const int thread = static_cast<int>(threadIdx.x) % Shape::kGroup;
    const int lane = thread % 32;
    unsigned char* const weights = shared + Shape::kWeightsAt + stage * Shape::kBlockBytes;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = thread / 32 * 16 + half * 8 + lane / 4;
      float more = 0.0F;
#pragma unroll
      for (int eight = 0; eight < 4; ++eight) {
        const int column = 32 * group + 8 * eight + 2 * (lane % 4);
        const float2 cell = *reinterpret_cast<const float2*>(cells(row) + column);
        const float* const two = q + 4 * eight + 2 * half;
        const Number numbers[2] = {Format::store(weigh<kExplicit>(cell.x, two[0], by[half], more)),
                                   Format::store(weigh<kExplicit>(cell.y, two[1], by[half], more))};
        *reinterpret_cast<std::uint32_t*>(weights + block_place(row, 4 * group + eight) +
                                          lane % 4 * 4) = as<std::uint32_t>(numbers);
      }
      if (step < 0) reached[half] += more;
    }
  }

  /// A group's columns of Y: of its products' columns one after the other.
  using Sums = float[Shape::kOwn / Shape::kTogether][Shape::kTogether / 2];

  /// Starts q = P V' of the group's half of a stage, which is filled for the turn.
  __device__ __forceinline__ void multiply_left(int group, int stage, unsigned turn,
                                                float (&q)[16]) const {
    wait_for_phase(filled(stage), turn / 2 % 2);
    const std::uint64_t left = describe_blocks(memory + Shape::kLeftAt, Shape::kBlockBytes);
    const std::uint64_t right = describe_blocks(
        memory + stage * Shape::kStageBytes + 32 * group * kBlockRowBytes, Shape::kBlockBytes);
    open_products();
#pragma unroll
    for (int depth = 0; depth < Shape::kColumns / 16; ++depth) {
      const int at = (depth / 4 * Shape::kBlockBytes + depth % 4 * 32) / 16;
      if (depth == 0) {
        multiply_group<Number, false, false>(q, left + at, right + at);
      } else {
        multiply_group<Number, true, false>(q, left + at, right + at);
      }
    }
    close_products();
  }

  /// Starts y += U V of the group's columns.
  __device__ __forceinline__ void add_columns(int group, int stage, Sums& y) const {
    const std::uint64_t weights = describe_blocks(
        memory + Shape::kWeightsAt + stage * Shape::kBlockBytes, Shape::kBlockBytes);
    const std::uint64_t columns =
        describe_blocks(memory + stage * Shape::kStageBytes +
                            group * (Shape::kOwn / kBlockColumns) * Shape::kBlockBytes,
                        Shape::kBlockBytes);
    open_products();
#pragma unroll
    for (int depth = 0; depth < kTile / 16; ++depth) {
#pragma unroll
      for (int i = 0; i < Shape::kOwn / Shape::kTogether; ++i) {
        constexpr int kNext = Shape::kTogether / kBlockColumns * Shape::kBlockBytes / 16;
        multiply_group<Number, true, true>(y[i], weights + depth * 2,
                                           columns + depth * 128 + i * kNext);
      }
    }
    close_products();
  }

  /// `group` 0 or 1: its half of a stage's factor rows in Q, and of the columns in Y.
  template <bool kExplicit>
  __device__ __forceinline__ void multiply(int group) const {
    const int thread = static_cast<int>(threadIdx.x) % Shape::kGroup;
    const int row = thread / 32 * 16 + thread % 32 / 4;  ///< and 8 more
    const RowScales by[2] = {scales_of(row), scales_of(row + 8)};
    double reached[2] = {0.0, 0.0};
    Sums y = {};
    float q[16];
    int stage = 0;
    unsigned turn = 0;
    multiply_left(group, stage, turn, q);
    wait_for_products<0>();
    for (Index first = place.begin;; first += kTile, ++turn) {
      wait_for_phase(cells_filled(), turn % 2);
      store_weights<kExplicit>(q, stage, group, by, reached);
      warp_arrives(cells_emptied());
      fence_bulk_copies();
      meet();
      add_columns(group, stage, y);
      if (first + kTile >= place.end) break;
      multiply_left(group, 1 - stage, turn + 1, q);
      wait_for_products<1>();
      warp_arrives(emptied(stage));
      wait_for_products<0>();
      stage = 1 - stage;
    }
    wait_for_products<0>();
    store_sums(y, group);
    if (step < 0) store_reached(reached, group);
  }

  /// The two groups that multiply.
  static __device__ __forceinline__ void meet() {
    asm volatile("bar.sync 1, %0;\n" ::"n"(2 * Shape::kGroup) : "memory");
  }

  __device__ __forceinline__ void store_sums(const Sums& y, int group) const {
    const int thread = static_cast<int>(threadIdx.x) % Shape::kGroup;
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int row = thread / 32 * 16 + half * 8 + thread % 32 / 4;
      if (!taken(row)) continue;
      const float unscale = 1.0F / (problem.scale * scales(row)[1]);
      float* const to =
          batch.dense.parts +
          (Offset{place.first_row + row} * batch.dense.part_count + place.part) * problem.padded;
#pragma unroll
      for (int i = 0; i < Shape::kOwn / Shape::kTogether; ++i) {
#pragma unroll
        for (int eight = 0; eight < Shape::kTogether / 8; ++eight) {
          const int column =
              group * Shape::kOwn + i * Shape::kTogether + 8 * eight + 2 * (thread % 4);
          if (column >= problem.padded) continue;
          const float* const sum = y[i] + 4 * eight + 2 * half;
          *reinterpret_cast<float2*>(to + column) = make_float2(sum[0] * unscale, sum[1] * unscale);
        }
      }
    }
  }

  /// Over the lanes of a row, and both groups.
  __device__ __forceinline__ void store_reached(double (&reached)[2], int group) const {
    const int thread = static_cast<int>(threadIdx.x) % Shape::kGroup;
    auto* const of_groups = reinterpret_cast<double*>(shared + Shape::kWeightsAt);
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      reached[half] += __shfl_xor_sync(0xffffffffU, reached[half], 1);
      reached[half] += __shfl_xor_sync(0xffffffffU, reached[half], 2);
    }
    meet();  // both are through with their products
    const int row = thread / 32 * 16 + thread % 32 / 4;
    if (thread % 4 == 0) {
      of_groups[2 * row + group] = reached[0];
      of_groups[2 * (row + 8) + group] = reached[1];
    }
    meet();
    if (group > 0 || thread >= kDenseRows || !taken(thread)) return;
    // Of v times weight, and q over the scales of P and the table.
    const double scale = static_cast<double>(scales(thread)[0]) / scales(thread)[1] / problem.scale;
    total_of(thread)[1] = (of_groups[2 * thread] + of_groups[2 * thread + 1]) * scale;
  }

  template <bool kExplicit>
  __device__ __forceinline__ void run() const {
    if (memory % kBlockBase != 0) __trap();
    const auto thread = static_cast<int>(threadIdx.x);
    for (int i = 16 * thread; i < Shape::kLeftAt && problem.padded < Shape::kColumns;
         i += 16 * Shape::kThreads) {
      *reinterpret_cast<uint4*>(shared + i) = make_uint4(0U, 0U, 0U, 0U);
    }
    store_left();
    if (thread == 0) {
      for (const int stage : {0, 1}) {
        make_barrier(filled(stage), Shape::kGroup / 32);
        make_barrier(emptied(stage), 2 * Shape::kGroup / 32);
      }
      make_barrier(cells_filled(), Shape::kGroup / 32);
      make_barrier(cells_emptied(), 2 * Shape::kGroup / 32);
    }
    fence_bulk_copies();
    __syncthreads();
    const int group = thread / Shape::kGroup;
    if (group < 2) {
      give_registers<Shape::kBringerRegisters>();
      if (group == 0) {
        bring();
      } else {
        fill_cells<kExplicit>();
      }
    } else {
      take_registers<Shape::kMultiplierRegisters>();
      multiply<kExplicit>(group - 2);
    }
  }
};

/// A block for 64 rows and a part of the factor rows, the longest rows first: they take longest.
template <class Stored, int kSlices, bool kExplicit>
__global__ void __launch_bounds__(DenseShape<kSlices>::kThreads, 1)
    dense_rows_kernel(const __grid_constant__ RowProblem problem,
                      const __grid_constant__ LockstepBatch batch, int step) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(kBlockBase) unsigned char dense_memory[];
  const int part = static_cast<int>(blockIdx.x) % batch.dense.part_count;
  const Index begin = part * batch.dense.part_rows;
  const DensePlace place{static_cast<int>(blockIdx.x) / batch.dense.part_count * kDenseRows, part,
                         begin, min(batch.dense.fixed_rows, begin + batch.dense.part_rows)};
  DenseKernel<Stored, kSlices>{problem, batch,        step,
                               place,   dense_memory, shared_address(dense_memory)}
      .template run<kExplicit>();
#else
  __trap();
#endif
}

/// A warp for a row.
template <class Stored, int kSlices>
__global__ void __launch_bounds__(32)
    round_dense_kernel(const __grid_constant__ RowProblem problem,
                       const __grid_constant__ LockstepBatch batch, int step) {
  DenseKernel<Stored, kSlices>::round(problem, batch, static_cast<int>(blockIdx.x), step);
}

}  // namespace likewise::cuda
