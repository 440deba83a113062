// SPDX-License-Identifier: Apache-2.0
/// Sums a row's matrix and right-hand side in the registers of a block, and multiplies with them.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/scatter.cuh"
#include "backends/cuda/als/rows/shape.cuh"
#include "backends/cuda/als/wide/tiles.h"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

template <class Format, int kStrips>
struct RowSums {
  using Shape = ShapeOf<Format, kStrips>;
  using Place = typename Shape::Place;
  using Sums = typename Shape::Sums;
  using Strip = typename Format::Strip;
  static constexpr int kSide = Shape::kSide;
  static constexpr int kRight = Shape::kRight;
  static constexpr int kTile = Format::kTileStrips;
  static constexpr int kHalfTile = Shape::kHalfTile;
  /// Whether registers are too short for all strips of half a tile at once.
  static constexpr bool kLoadsLate = Format::kWide || (kTile > 4 && kStrips > 10);
  static constexpr int kThreads = Shape::kThreads;
  static constexpr int kPitch = Format::pitch(Shape::kPadded);
  static constexpr int kWeightRow = kStageRows<Format, kStrips> * Format::kBytes;

  /// Adds one group of interactions.
  template <Part kPart>
  static __device__ __forceinline__ void add_group(const Place& p, std::uint32_t rows,
                                                   const unsigned char* w_at, Sums& sums) {
    using Tile = PartShape<kStrips, Format::kTileStrips, kPart>;
    std::uint32_t w[2];
    Format::load_weights(w, w_at, p.lane);
    // Columns 0 .. kParts - 1 of a right operand hold the parts of v, the others nothing.
    std::uint32_t v[2] = {0U, 0U};
    if constexpr (kSide == 1 || !Tile::kDiagonal) {
      if (p.g < Format::kParts) Format::load_weights(v, w_at + (1 + p.g) * kWeightRow, p.lane);
    }
    Strip a[Tile::kRowStrips > 0 ? Tile::kRowStrips : 1];
#pragma unroll
    for (int j = 0; j < Tile::kRowStrips; ++j) {
      Format::load(a[j], rows, kPitch, p.first_row + 16 * j, p.lane);
    }
    if constexpr (Tile::kDiagonal) {
#pragma unroll
      for (int i = 0; i < Tile::kColumnStrips; ++i) {
        Strip scaled;
        Format::scale(scaled, a[i], w);
        if constexpr (kSide == 1) Format::multiply_column(sums[kRight + i], a[i], v);
#pragma unroll
        for (int j = i; j < Tile::kRowStrips; ++j) {
          add_products<Tile>(sums, i, j, a[j], scaled);
        }
      }
    } else {
      Strip b[Tile::kColumnStrips];
      const auto load_column = [&](int i) {
        Format::load(b[i], rows, kPitch, p.first_column + 16 * i, p.lane);
      };
      // Else they are loaded when they are needed, some twice.
      if constexpr (!kLoadsLate) {
#pragma unroll
        for (int i = 0; i < Tile::kColumnStrips; ++i) load_column(i);
      }
      if (kSide == 2 || p.right_columns) {
        constexpr int kFirst = kHalfTile * Tile::kHalf;
#pragma unroll
        for (int i = 0; i < Tile::kHalfColumns; ++i) {
          if constexpr (kLoadsLate) load_column(kFirst + i);
          Format::multiply_column(sums[kRight + i], b[kFirst + i], v);
        }
      }
#pragma unroll
      for (int i = 0; i < Tile::kColumnStrips; ++i) {
        if constexpr (kLoadsLate) load_column(i);
        Strip scaled;
        Format::scale(scaled, b[i], w);
#pragma unroll
        for (int j = 0; j < Tile::kRowStrips; ++j) {
          add_products<Tile>(sums, i, j, a[j], scaled);
        }
      }
      if (kSide == 2 || p.right_rows) {
#pragma unroll
        for (int j = 0; j < Tile::kRowStrips; ++j) {
          Format::multiply_column(sums[kRight + kHalfTile + j], a[j], v);
        }
      }
    }
  }

  /// Column strip i times row strip j.
  template <class Tile>
  static __device__ __forceinline__ void add_products(Sums& sums, int i, int j, const Strip& a,
                                                      const Strip& b) {
    Format::multiply(sums[Tile::index(j, 2 * i)], a, b, 0);
    Format::multiply(sums[Tile::index(j, 2 * i + 1)], a, b, 1);
  }

  template <class Visit>
  static __device__ __forceinline__ void for_each_sum(Sums& sums, Visit visit) {
#pragma unroll
    for (int n = 0; n < Shape::kProducts; ++n) {
#pragma unroll
      for (int i = 0; i < 4; ++i) visit(sums[n][i], 4 * n + i);
    }
  }

  static constexpr Offset kPieceFloats = Offset{kThreads} * 4 * Shape::kProducts;

  static __device__ __forceinline__ void store_piece(const RowProblem& problem, int slot,
                                                     const Place& p, Sums& sums, double constant) {
    float* to = problem.piece_sums + slot * kPieceFloats + p.role * 32 + p.lane;
    for_each_sum(sums, [&](float& x, int at) { to[Offset{at} * kThreads] = x; });
    if (threadIdx.x == 0) problem.piece_constants[slot] = constant;
  }

  /// The same where and as wide/matrices.cuh leaves sums.
  static __device__ __forceinline__ void store_tiles(const RowProblem& problem, int slot,
                                                     const Place& p, const Sums& sums,
                                                     double constant) {
    float* to = problem.piece_sums + slot * slot_floats(Shape::kPadded);
    Shape::for_part(p, [&](auto part) { store_part<part.value>(p, sums, to); });
    put_right(p, sums, to + tile_number(tile_columns(Shape::kPadded), 0) * kTileFloats);
    if (threadIdx.x == 0) problem.piece_constants[slot] = constant;
  }
  template <Part kPart>
  static __device__ __forceinline__ void store_part(const Place& p, const Sums& sums, float* to) {
    using Tile = PartShape<kStrips, Format::kTileStrips, kPart>;
#pragma unroll
    for (int j = 0; j < Tile::kRowStrips; ++j) {
#pragma unroll
      for (int n = 0; n < Tile::columns(j); ++n) {
        const Offset place = product_place(p.first_row / 16 + j, p.first_column / 8 + n);
        const float(&sum)[4] = sums[Tile::index(j, n)];
        reinterpret_cast<float4*>(to + place)[p.lane] = make_float4(sum[0], sum[1], sum[2], sum[3]);
      }
    }
  }

  /// The row's pieces, added in their order. Returns their constants' sum.
  static __device__ __forceinline__ double load_pieces(const RowProblem& problem,
                                                       const RowTask& task, const Place& p,
                                                       Sums& sums) {
    double constant = 0.0;
    for (int piece = task.slot; piece < task.slot + task.slots; ++piece) {
      const float* from = problem.piece_sums + piece * kPieceFloats + p.role * 32 + p.lane;
      for_each_sum(sums, [&](float& x, int at) { x += from[Offset{at} * kThreads]; });
      constant += problem.piece_constants[piece];
    }
    return constant;
  }

  /// partial = this warp's part of the product of the summed matrix with its vector: for a tile
  /// below the diagonal of the matrix, the tile's and its transpose's.
  template <Part kPart>
  static __device__ __forceinline__ void multiply_sums(const Place& p, const Sums& sums,
                                                       const float* vector, float* partial) {
    using Tile = PartShape<kStrips, Format::kTileStrips, kPart>;
    // Four lanes share a row's numbers: each is left with so many.
    constexpr int kLeftRows = (Tile::kDiagonal ? 2 * kTile + 3 : kTile + 3) / 4;
    constexpr int kLeftColumns = kTile / 2;  // eight lanes
    float by_row[4 * kLeftRows] = {};
    float by_column[4 * kTile] = {};
    float x[2 * kTile];  // the vector's numbers of this lane's rows
#pragma unroll
    for (int j = 0; j < Tile::kRowStrips; ++j) {
      x[2 * j] = vector[p.first_row + 16 * j + p.g];
      x[2 * j + 1] = vector[p.first_row + 16 * j + 8 + p.g];
    }
#pragma unroll
    for (int n = 0; n < 2 * Tile::kColumnStrips; ++n) {
      const float2 y = *reinterpret_cast<const float2*>(vector + p.first_column + 8 * n + 2 * p.t);
#pragma unroll
      for (int j = 0; j < Tile::kRowStrips; ++j) {
        if (n < Tile::columns(j)) {
          const float(&sum)[4] = sums[Tile::index(j, n)];
          by_row[2 * j] = fmaf(sum[0], y.x, by_row[2 * j]);
          by_row[2 * j] = fmaf(sum[1], y.y, by_row[2 * j]);
          by_row[2 * j + 1] = fmaf(sum[2], y.x, by_row[2 * j + 1]);
          by_row[2 * j + 1] = fmaf(sum[3], y.y, by_row[2 * j + 1]);
          if (!Tile::kDiagonal || n < 2 * j) {
            by_column[2 * n] = fmaf(sum[0], x[2 * j], by_column[2 * n]);
            by_column[2 * n] = fmaf(sum[2], x[2 * j + 1], by_column[2 * n]);
            by_column[2 * n + 1] = fmaf(sum[1], x[2 * j], by_column[2 * n + 1]);
            by_column[2 * n + 1] = fmaf(sum[3], x[2 * j + 1], by_column[2 * n + 1]);
          }
        }
      }
    }
    scatter_sum<4 * kLeftRows, 1, 2>(by_row, p.lane);
    scatter_sum<4 * kTile, 4, 16>(by_column, p.lane);
    // Number 2 n + h of by_column is column 8 n + 2 t + h.
    const int first_left = kLeftColumns * (4 * (p.g & 1) + 2 * ((p.g >> 1) & 1) + (p.g >> 2));
    const int column_slot =
        Tile::kDiagonal ? p.row_tile
                        : p.column_tile + 1 + 2 * (p.row_tile - p.column_tile - 1) + Tile::kHalf;
    float* columns = partial + column_slot * Shape::kColumns + p.first_column + 2 * p.t;
    if constexpr (kLeftColumns == 2) {
      if (first_left < 4 * Tile::kColumnStrips) {
        *reinterpret_cast<float2*>(columns + 4 * first_left) =
            make_float2(by_column[0], by_column[1]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < kLeftColumns; ++i) {
        const int number = first_left + i;
        if (number < 4 * Tile::kColumnStrips) {
          columns[8 * (number >> 1) + (number & 1)] = by_column[i];
        }
      }
    }
    // Number 2 j + h of by_row is row 16 j + 8 h + g.
    float* rows = partial + p.column_tile * Shape::kColumns + p.first_row + p.g;
    if constexpr (Tile::kDiagonal) __syncwarp();
#pragma unroll
    for (int i = 0; i < kLeftRows; ++i) {
      const int number = kLeftRows * (2 * (p.t & 1) + (p.t >> 1)) + i;
      if (number >= 2 * Tile::kRowStrips) continue;
      if constexpr (Tile::kDiagonal) {
        rows[8 * number] += by_row[i];
      } else {
        rows[8 * number] = by_row[i];
      }
    }
  }

  /// The two or three parts of a right-hand side, added, to shared memory.
  static __device__ __forceinline__ void put_right(const Place& p, const Sums& sums, float* to) {
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
      // Columns 0 and 1 are in lanes t = 0, columns 2 and 3 in lanes t = 1.
      float upper = p.t < 2 ? sums[kRight + i][0] + sums[kRight + i][1] : 0.0F;
      float lower = p.t < 2 ? sums[kRight + i][2] + sums[kRight + i][3] : 0.0F;
      upper += __shfl_xor_sync(0xffffffffU, upper, 1);
      lower += __shfl_xor_sync(0xffffffffU, lower, 1);
      int strip = i;
      bool mine = i < p.row_strips;
      int first = p.first_row;
      if (kSide > 1 && i < kHalfTile) {
        strip = kHalfTile * p.half + i;
        mine = p.right_columns && strip < p.column_strips;
        first = p.first_column;
      } else if (kSide > 1) {
        strip = i - kHalfTile;
        mine = p.right_rows && strip < p.row_strips;
      }
      if (mine && p.t == 0) {
        to[first + 16 * strip + p.g] = upper;
        to[first + 16 * strip + 8 + p.g] = lower;
      }
    }
  }
};

}  // namespace likewise::cuda
