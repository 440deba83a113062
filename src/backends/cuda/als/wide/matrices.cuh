// SPDX-License-Identifier: Apache-2.0
/// Sums the matrices of rows of wide tables on tensor cores, into memory: a block sums a job's
/// tiles over a task's interactions, a warp one tile of 64 x 64, or two on the diagonal, in its
/// registers.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/ring.cuh"
#include "backends/cuda/als/wide/tiles.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

inline constexpr int kJobThreads = 32 * kMostJobTiles;

/// Copies the tile columns of a job; kGroups groups of interactions are a stage.
template <class Format, int kGroups>
struct JobCopier {
  static constexpr int kRows = kGroups * Format::kGroup;
  static constexpr int kStageBytes = kRows * Format::pitch(kMostJobColumns * kTileColumns);
  static constexpr int kTileChunks = kTileColumns * Format::kBytes / 16;

  const unsigned char* source;
  std::size_t row_bytes;  ///< of the table
  std::uint32_t target;
  int pitch;
  int first_row;  ///< row of a pass that this thread copies; kRows if none
  int pass;       ///< rows that the block copies at a time
  bool there;     ///< whether the table has this thread's columns

  __device__ __forceinline__ JobCopier(const RowProblem& problem, const TileJob& job,
                                       unsigned char* memory) {
    const int chunks = job.columns * kTileChunks;
    const int row = static_cast<int>(threadIdx.x) / chunks;
    const int chunk = static_cast<int>(threadIdx.x) % chunks;
    const int column = job.column[chunk / kTileChunks] * kTileColumns +
                       chunk % kTileChunks * (16 / Format::kBytes);
    pitch = Format::pitch(job.columns * kTileColumns);
    pass = kJobThreads / chunks;
    first_row = row < pass ? row : kRows;
    there = column < problem.padded;
    row_bytes = static_cast<std::size_t>(problem.padded) * Format::kBytes;
    source = static_cast<const unsigned char*>(problem.table) +
             (there ? static_cast<std::size_t>(column) * Format::kBytes : 0);
    target = shared_address(memory) + row * pitch + chunk * 16;
  }

  /// Warps of different kinds meet from different places in the code.
  static __device__ __forceinline__ void synchronize() {
    asm volatile("barrier.sync 0;\n" ::: "memory");
  }

  /// Of the two warps on a scheduler, one copies while the other multiplies.
  static __device__ __forceinline__ bool copies_late() { return threadIdx.x >= kJobThreads / 2; }

  __device__ __forceinline__ void copy(const Index* columns, int left, int place) const {
    std::uint32_t to = target + place * kStageBytes;
#pragma unroll 4
    for (int row = first_row; row < kRows; row += pass) {
      copy_16_async(to, source + static_cast<std::size_t>(columns[row]) * row_bytes,
                    there && row < left);
      to += pass * pitch;
    }
  }
};

/// The sums of a warp, and how it adds to them.
template <class Format, bool kDiagonal>
struct TileSums;

/// A tile below the diagonal.
template <class Format>
struct TileSums<Format, false> {
  using Strip = typename Format::Strip;
  static constexpr int kStrips = kTileColumns / 16;
  /// Operands for the next group are fetched while this one is multiplied, where registers allow.
  static constexpr bool kAhead = sizeof(Strip) <= 16;

  struct Operands {
    Strip a[kStrips];
    Strip b[kAhead ? kStrips : 1];
    std::uint32_t w[2];
  };
  float sums[2 * kStrips * kStrips][4] = {};

  __device__ __forceinline__ void load(Operands& to, std::uint32_t rows, int pitch,
                                       const JobTile& tile, const unsigned char* weights,
                                       int lane) const {
    Format::load_weights(to.w, weights, lane);
#pragma unroll
    for (int j = 0; j < kStrips; ++j) {
      Format::load(to.a[j], rows, pitch, tile.row * kTileColumns + 16 * j, lane);
      if constexpr (kAhead) {
        Format::load(to.b[j], rows, pitch, tile.column * kTileColumns + 16 * j, lane);
      }
    }
  }

  __device__ __forceinline__ void multiply(Operands& from, std::uint32_t rows, int pitch,
                                           const JobTile& tile, int lane) {
#pragma unroll
    for (int i = 0; i < kStrips; ++i) {
      Strip& b = from.b[kAhead ? i : 0];
      if constexpr (!kAhead) {
        Format::load(b, rows, pitch, tile.column * kTileColumns + 16 * i, lane);
      }
      Strip scaled;
      Format::scale(scaled, b, from.w);
#pragma unroll
      for (int j = 0; j < kStrips; ++j) {
        Format::multiply(sums[2 * kStrips * j + 2 * i], from.a[j], scaled, 0);
        Format::multiply(sums[2 * kStrips * j + 2 * i + 1], from.a[j], scaled, 1);
      }
    }
  }

  /// Adds the groups of a stage; those beyond the row are zeros.
  template <int kGroups, int kWeightRow>
  __device__ __forceinline__ void add(std::uint32_t rows, int pitch, const JobTile& tile,
                                      const unsigned char* weights, int lane) {
    const std::uint32_t step = Format::kGroup * pitch;
    constexpr int kWeights = Format::kGroup * Format::kBytes;
    Operands operands[2];
    load(operands[0], rows, pitch, tile, weights, lane);
#pragma unroll
    for (int group = 0; group < kGroups; ++group) {
      if (kAhead && group + 1 < kGroups) {
        load(operands[(group + 1) % 2], rows + (group + 1) * step, pitch, tile,
             weights + (group + 1) * kWeights, lane);
      }
      multiply(operands[kAhead ? group % 2 : 0], rows + group * step, pitch, tile, lane);
      if (!kAhead && group + 1 < kGroups) {
        load(operands[0], rows + (group + 1) * step, pitch, tile, weights + (group + 1) * kWeights,
             lane);
      }
    }
  }

  /// The tile in the order of the products, a lane's four numbers together.
  __device__ __forceinline__ void store(const TileJob& job, const JobTile& tile, int, int lane,
                                        float* slot) const {
    const int number = tile_number(job.column[tile.row], job.column[tile.column]);
    auto* to = reinterpret_cast<float4*>(slot + Offset{number} * kTileFloats) + lane;
#pragma unroll
    for (int n = 0; n < 2 * kStrips * kStrips; ++n) {
      to[32 * n] = make_float4(sums[n][0], sums[n][1], sums[n][2], sums[n][3]);
    }
  }
};

/// One diagonal tile or two, of which only the lower triangle is summed, and the right-hand sides
/// of their columns.
template <class Format>
struct TileSums<Format, true> {
  using Strip = typename Format::Strip;
  static constexpr int kStrips = kTileColumns / 16;
  static constexpr int kRight = kStrips * (kStrips + 1);  ///< products of a tile
  float sums[2][kRight + kStrips][4] = {};

  template <int kWhich>
  __device__ __forceinline__ void add_group(std::uint32_t rows, int pitch, int tile_column,
                                            const std::uint32_t (&w)[2],
                                            const std::uint32_t (&v)[2], int lane) {
    Strip a[kStrips];
#pragma unroll
    for (int j = 0; j < kStrips; ++j) {
      Format::load(a[j], rows, pitch, tile_column * kTileColumns + 16 * j, lane);
    }
#pragma unroll
    for (int i = 0; i < kStrips; ++i) {
      Strip scaled;
      Format::multiply_column(sums[kWhich][kRight + i], a[i], v);
      Format::scale(scaled, a[i], w);
#pragma unroll
      for (int j = i; j < kStrips; ++j) {
        Format::multiply(sums[kWhich][j * (j + 1) + 2 * i], a[j], scaled, 0);
        Format::multiply(sums[kWhich][j * (j + 1) + 2 * i + 1], a[j], scaled, 1);
      }
    }
  }

  template <int kGroups, int kWeightRow>
  __device__ __forceinline__ void add(std::uint32_t rows, int pitch, const JobTile& tile,
                                      const unsigned char* weights, int lane) {
#pragma unroll 1
    for (int group = 0; group < kGroups; ++group) {
      const unsigned char* at = weights + group * Format::kGroup * Format::kBytes;
      std::uint32_t w[2];
      std::uint32_t v[2] = {0U, 0U};
      Format::load_weights(w, at, lane);
      if (lane / 4 < Format::kParts) {
        Format::load_weights(v, at + (1 + lane / 4) * kWeightRow, lane);
      }
      const std::uint32_t from = rows + group * Format::kGroup * pitch;
      add_group<0>(from, pitch, tile.row, w, v, lane);
      if (tile.column != tile.row) add_group<1>(from, pitch, tile.column, w, v, lane);
    }
  }

  template <int kWhich>
  __device__ __forceinline__ void store_tile(int column, int side, int lane, float* slot) const {
    auto* to =
        reinterpret_cast<float4*>(slot + Offset{tile_number(column, column)} * kTileFloats) + lane;
#pragma unroll
    for (int j = 0; j < kStrips; ++j) {
#pragma unroll
      for (int n = 0; n < 2 * j + 2; ++n) {
        const float(&sum)[4] = sums[kWhich][j * (j + 1) + n];
        to[32 * (2 * kStrips * j + n)] = make_float4(sum[0], sum[1], sum[2], sum[3]);
      }
    }
    float* right = slot + Offset{tile_number(side, 0)} * kTileFloats + column * kTileColumns;
#pragma unroll
    for (int i = 0; i < kStrips; ++i) {
      // The parts of v: columns 0 and 1 are in lanes t = 0, columns 2 and 3 in lanes t = 1.
      const float(&sum)[4] = sums[kWhich][kRight + i];
      float upper = lane % 4 < 2 ? sum[0] + sum[1] : 0.0F;
      float lower = lane % 4 < 2 ? sum[2] + sum[3] : 0.0F;
      upper += __shfl_xor_sync(0xffffffffU, upper, 1);
      lower += __shfl_xor_sync(0xffffffffU, lower, 1);
      if (lane % 4 == 0) {
        right[16 * i + lane / 4] = upper;
        right[16 * i + 8 + lane / 4] = lower;
      }
    }
  }

  __device__ __forceinline__ void store(const TileJob& job, const JobTile& tile, int side, int lane,
                                        float* slot) const {
    store_tile<0>(job.column[tile.row], side, lane, slot);
    if (tile.column != tile.row) store_tile<1>(job.column[tile.column], side, lane, slot);
  }
};

template <class Format, int kGroups>
struct TileKernel {
  using Copier = JobCopier<Format, kGroups>;
  using Ring = RowRing<Format, Copier>;

  /// What warps of one kind do; all warps pass the same barriers.
  template <bool kDiagonal>
  static __device__ __forceinline__ void run(const RowProblem& problem, const RowTask& task,
                                             const TileJob& job, bool first_job,
                                             unsigned char* shared) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const JobTile tile = job.tile[warp];
    const bool works = warp < job.tiles;
    TileSums<Format, kDiagonal> sums;
    const Copier copier(problem, job, shared);
    Ring ring(problem, task, RowBounds(problem, task.row), copier, shared);
    ring.run(problem, [&](std::uint32_t rows, const unsigned char* weights, int) {
      if (works) {
        sums.template add<kGroups, Ring::kWeightRow>(rows, copier.pitch, tile, weights, lane);
      }
    });
    const auto constant = ring.sum_constant();
    if (!works) return;
    sums.store(job, tile, tile_columns(problem.padded), lane,
               problem.piece_sums + task.slot * slot_floats(problem.padded));
    if (threadIdx.x == 0 && first_job) problem.piece_constants[task.slot] = constant;
  }
};

/// Blocks of one task follow each other: its factor rows are then in L2 for all but the first.
template <class Format, int kGroups>
__global__ void __launch_bounds__(kJobThreads, 1)
    tile_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks,
                const TileJob* jobs, int job_count) {
  extern __shared__ __align__(16) unsigned char shared[];
  const int task = static_cast<int>(blockIdx.x) / job_count;
  const int job = static_cast<int>(blockIdx.x) % job_count;
  if (jobs[job].tile[threadIdx.x / 32].diagonal != 0) {
    TileKernel<Format, kGroups>::template run<true>(problem, tasks[task], jobs[job], job == 0,
                                                    shared);
  } else {
    TileKernel<Format, kGroups>::template run<false>(problem, tasks[task], jobs[job], job == 0,
                                                     shared);
  }
}

}  // namespace likewise::cuda
