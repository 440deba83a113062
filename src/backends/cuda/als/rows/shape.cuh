// SPDX-License-Identifier: Apache-2.0
/// How a row's matrix is divided among the warps of a block (als_rows.h).
///
/// The matrix has kStrips strips of 16 columns. Its lower triangle is cut into kSide diagonal tiles
/// of up to kTile strips, four or six, of which only the lower triangle is summed, and the halves,
/// up to kTile / 2 strips by kTile, of the tiles below them: one per warp, kSide^2 warps, all about
/// equal work.
#pragma once

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

/// A warp's part of the triangle: half 0 or 1 of a tile below the diagonal, the first diagonal
/// tile, or the last one, which may be smaller.
enum class Part { kUpperHalf, kLowerHalf, kDiagonal, kLastDiagonal };

/// The strips of a part, and where the sums of strip row j, 8-column n are kept.
template <int kStrips, int kTile, Part kPart>
struct PartShape {
  static constexpr int kSide = (kStrips + kTile - 1) / kTile;
  static constexpr int kEach = (kStrips + kSide - 1) / kSide;
  static constexpr int kLast = kStrips - (kSide - 1) * kEach;
  static_assert(kSide <= 2 || kLast == kEach, "only small matrices may have a smaller last tile");
  static constexpr bool kDiagonal = kPart == Part::kDiagonal || kPart == Part::kLastDiagonal;
  static constexpr int kHalf = kPart == Part::kLowerHalf ? 1 : 0;
  static constexpr int kColumnStrips = kPart == Part::kLastDiagonal ? kLast : kEach;
  static constexpr int kMostRows = kDiagonal ? kColumnStrips : kLast - kTile / 2 * kHalf;
  static constexpr int kRowStrips = kDiagonal ? kMostRows : std::clamp(kMostRows, 0, kTile / 2);
  /// Column strips of this half's number, for whose right-hand sides half a tile is asked.
  static constexpr int kHalfColumns = std::min(kTile / 2, kColumnStrips - kTile / 2 * kHalf);
  /// 8-columns of row j: a diagonal tile stops with its diagonal strip.
  static __host__ __device__ constexpr int columns(int j) {
    return kDiagonal ? 2 * j + 2 : 2 * kColumnStrips;
  }
  static __host__ __device__ constexpr int index(int j, int n) {
    return (kDiagonal ? j * (j + 1) : 2 * kTile * j) + n;
  }
};

template <int kStrips, int kTile>
struct RowShape {
  static constexpr int kPadded = 16 * kStrips;
  static constexpr int kHalfTile = kTile / 2;
  static constexpr int kSide = (kStrips + kTile - 1) / kTile;
  static constexpr int kEach = (kStrips + kSide - 1) / kSide;  ///< strips of a tile but the last
  static constexpr bool kFull = kStrips == kSide * kEach;
  static constexpr int kWarps = kSide * kSide;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kColumns = (kPadded + 63) / 64 * 64;  ///< a vector's place
  static constexpr int kPartials = 2 * kSide - 1;  ///< warps that add to a number of a product
  /// The sums of a warp's tile, 16 x 8 products, and after them the right-hand sides of kTile
  /// strips: with kSide = 1 the tile's, else kHalfTile column strips and as many row strips of half
  /// a tile.
  static constexpr int kRight = kSide == 1 ? kTile * (kTile + 1) : kHalfTile * 2 * kTile;
  static constexpr int kProducts = kRight + kTile;
  using Sums = float[kProducts][4];

  /// What a warp has of the triangle, and the lane's place in it.
  struct Place {
    int role, lane, g, t;
    int row_tile, column_tile, half;
    int first_row, first_column;     ///< columns of the table
    int row_strips, column_strips;   ///< strips that exist
    bool right_columns, right_rows;  ///< whose right-hand sides this warp sums
    [[nodiscard]] __device__ bool diagonal() const { return kSide == 1 || row_tile == column_tile; }
  };

  /// Calls visit with the warp's part as a compile-time constant.
  template <class Visit>
  static __device__ __forceinline__ void for_part(const Place& p, Visit visit) {
    if (p.diagonal()) {
      if (kFull || p.row_tile < kSide - 1 || kSide == 1) {
        visit(std::integral_constant<Part, Part::kDiagonal>{});
      } else {
        visit(std::integral_constant<Part, Part::kLastDiagonal>{});
      }
    } else if (p.half == 0) {
      visit(std::integral_constant<Part, Part::kUpperHalf>{});
    } else {
      visit(std::integral_constant<Part, Part::kLowerHalf>{});
    }
  }

  /// Roles turn from block to block, so that all schedulers of a multiprocessor get equal work.
  static __device__ __forceinline__ Place place() {
    Place p{};
    p.role = kSide == 1
                 ? 0
                 : (static_cast<int>(threadIdx.x) / 32 + static_cast<int>(blockIdx.x)) % kWarps;
    p.lane = static_cast<int>(threadIdx.x) % 32;
    p.g = p.lane >> 2;
    p.t = p.lane & 3;
    if (p.role < kSide) {
      p.row_tile = p.column_tile = p.role;
      p.row_strips = kEach;
    } else {
      int tile = (p.role - kSide) / 2;
      p.half = (p.role - kSide) % 2;
      p.row_tile = 1;
      while (tile >= p.row_tile) tile -= p.row_tile++;
      p.column_tile = tile;
      p.row_strips = min(kHalfTile, kEach - kHalfTile * p.half);
    }
    const int first = p.row_tile * kEach + kHalfTile * p.half;
    p.first_row = 16 * first;
    p.row_strips = max(0, min(p.row_strips, kStrips - first));
    p.first_column = 16 * p.column_tile * kEach;
    p.column_strips = max(0, min(kEach, kStrips - p.column_tile * kEach));
    p.right_columns = kSide > 1 && p.row_tile == p.column_tile + 1;
    p.right_rows = kSide == 1 || (p.right_columns && p.row_tile == kSide - 1);
    return p;
  }

  static __device__ __forceinline__ void synchronize() {
    if constexpr (kWarps == 1) {
      __syncwarp();
    } else {
      __syncthreads();
    }
  }
};

template <class Format, int kStrips>
using ShapeOf = RowShape<kStrips, Format::kTileStrips>;

/// Interactions of a stage: blocks of several warps meet at a barrier in every one.
template <class Format, int kStrips>
inline constexpr int kStageRows = Format::kStageRows*(ShapeOf<Format, kStrips>::kSide > 1 ? 2 : 1);

}  // namespace likewise::cuda
