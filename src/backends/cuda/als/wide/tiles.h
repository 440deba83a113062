// SPDX-License-Identifier: Apache-2.0
/// How the lower triangle of a wide row's matrix is cut: into tiles of 64 x 64, one for a warp (or
/// two of those on the diagonal, half of which is needed), and the tiles into jobs, one for a
/// block.
#pragma once

#include <cstdint>
#include <cuda_runtime_api.h>
#include <vector>

#include "likewise/types.h"

namespace likewise::cuda {

inline constexpr int kTileColumns = 64;
inline constexpr int kTileFloats = kTileColumns * kTileColumns;
inline constexpr int kMostPadded = 1024;
inline constexpr int kMostJobTiles = 8;
inline constexpr int kMostJobColumns = 6;  ///< tile columns of the table that a job reads

[[nodiscard]] __host__ __device__ constexpr int tile_columns(int padded) {
  return (padded + kTileColumns - 1) / kTileColumns;
}
/// Tiles are numbered row by row.
[[nodiscard]] __host__ __device__ constexpr int tile_number(int row, int column) {
  return row * (row + 1) / 2 + column;
}
/// Where the sums of rows 16 `strip` on and columns 8 `eight` on begin in a slot: 32 lanes have
/// four neighbours each.
[[nodiscard]] __host__ __device__ constexpr Offset product_place(int strip, int eight) {
  constexpr int kStrips = kTileColumns / 16;
  constexpr int kEights = kTileColumns / 8;
  return Offset{tile_number(strip / kStrips, eight / kEights)} * kTileFloats +
         128 * (strip % kStrips * kEights + eight % kEights);
}
/// What a task's sums take: all tiles, and the right-hand side.
[[nodiscard]] __host__ __device__ constexpr Offset slot_floats(int padded) {
  const int side = tile_columns(padded);
  return Offset{side * (side + 1) / 2} * kTileFloats + Offset{side} * kTileColumns;
}

/// What a warp sums: the tile at places `row` and `column` among the job's tile columns, or the
/// diagonal tiles of both places, of one if they are the same.
struct JobTile {
  std::uint8_t row = 0;
  std::uint8_t column = 0;
  std::uint8_t diagonal = 0;
};

struct TileJob {
  std::int32_t columns = 0;     ///< how many tile columns are read
  std::int32_t tiles = 0;       ///< warps that have work
  std::uint8_t column[8] = {};  ///< which ones
  JobTile tile[kMostJobTiles];
};

/// All jobs of a matrix. Each reads few tile columns for the tiles it has, and gives the four
/// schedulers of a multiprocessor about the same work.
[[nodiscard]] std::vector<TileJob> tile_jobs(int padded);

}  // namespace likewise::cuda
