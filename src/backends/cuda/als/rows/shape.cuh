// SPDX-License-Identifier: Apache-2.0
/// How a row's matrix is divided among the warps of a block (als_rows.h).
///
/// The matrix has kStrips strips of 16 columns. Its lower triangle is cut into kSide diagonal tiles
/// of up to four strips, of which only the lower triangle is summed, and the halves, up to two
/// strips by four, of the tiles below them: one per warp, kSide^2 warps, all about equal work.
#pragma once

#include <cstdint>
#include <type_traits>

#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

inline constexpr int kTileStrips = 4;         ///< strips of a tile, at most
inline constexpr int kDiagonalProducts = 20;  ///< 16 x 8 products of a diagonal tile
inline constexpr int kHalfProducts = 16;      ///< of half a tile below the diagonal

/// Tiles along the diagonal. From nine to twelve strips tiles have three: nine warps with four each
/// keep a multiprocessor less busy than sixteen with three.
[[nodiscard]] constexpr int side_of(int strips) {
  const int most = strips > 8 && strips <= 12 ? 3 : kTileStrips;
  return (strips + most - 1) / most;
}

/// A warp's part of the triangle: half 0 or 1 of a tile below the diagonal, or a diagonal tile; in
/// the last row of tiles, which may be smaller, or in another.
enum class Part {
  kUpperHalf,
  kLowerHalf,
  kDiagonal,
  kLastUpperHalf,
  kLastLowerHalf,
  kLastDiagonal
};

/// The strips of a part, and where the sums of strip row j, 8-column n are kept.
template <int kStrips, Part kPart>
struct PartShape {
  static constexpr int kSide = side_of(kStrips);
  static constexpr int kEach = (kStrips + kSide - 1) / kSide;
  static constexpr int kLast = kStrips - (kSide - 1) * kEach;
  static constexpr bool kDiagonal = kPart == Part::kDiagonal || kPart == Part::kLastDiagonal;
  static constexpr bool kInLastRow = kPart >= Part::kLastUpperHalf;
  static constexpr int kHalf = kPart == Part::kLowerHalf || kPart == Part::kLastLowerHalf ? 1 : 0;
  static constexpr int kColumnStrips = kPart == Part::kLastDiagonal ? kLast : kEach;
  static constexpr int kMostRows = (kInLastRow ? kLast : kEach) - 2 * kHalf;
  static constexpr int kRowStrips = kDiagonal       ? kMostRows
                                    : kMostRows < 0 ? 0
                                    : kMostRows < 2 ? kMostRows
                                                    : 2;
  /// 8-columns of row j: a diagonal tile stops with its diagonal strip.
  static __host__ __device__ constexpr int columns(int j) {
    return kDiagonal ? 2 * j + 2 : 2 * kColumnStrips;
  }
  static __host__ __device__ constexpr int index(int j, int n) {
    return (kDiagonal ? j * (j + 1) : 2 * kTileStrips * j) + n;
  }
};

/// Interactions of a stage: blocks of several warps meet at a barrier in every one.
template <class Format, int kStrips>
inline constexpr int kStageRows = Format::kStageRows*(kStrips > kTileStrips ? 2 : 1);

template <int kStrips>
struct RowShape {
  static constexpr int kPadded = 16 * kStrips;
  static constexpr int kSide = side_of(kStrips);
  static constexpr int kEach = (kStrips + kSide - 1) / kSide;  ///< strips of a tile but the last
  static constexpr bool kFull = kStrips == kSide * kEach;
  static constexpr int kWarps = kSide * kSide;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kColumns = (kPadded + 63) / 64 * 64;  ///< a vector's place
  static constexpr int kPartials = 2 * kSide - 1;  ///< warps that add to a number of a product
  /// The sums of a warp's tile, and after them the right-hand sides of four strips: with kSide = 1
  /// the tile's, else two column strips and two row strips of half a tile.
  static constexpr int kRight = kSide == 1 ? kDiagonalProducts : kHalfProducts;
  static constexpr int kProducts = kRight + kTileStrips;
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
    if (!kFull && p.row_tile == kSide - 1) {
      visit_part<Part::kLastUpperHalf, Part::kLastLowerHalf, Part::kLastDiagonal>(p, visit);
    } else if constexpr (kFull || kSide > 2) {
      visit_part<Part::kUpperHalf, Part::kLowerHalf, Part::kDiagonal>(p, visit);
    } else {
      visit(std::integral_constant<Part, Part::kDiagonal>{});  // of two rows of tiles the first
    }
  }
  template <Part kUpper, Part kLower, Part kOnDiagonal, class Visit>
  static __device__ __forceinline__ void visit_part(const Place& p, Visit visit) {
    if (p.diagonal()) {
      visit(std::integral_constant<Part, kOnDiagonal>{});
    } else if (p.half == 0) {
      visit(std::integral_constant<Part, kUpper>{});
    } else {
      visit(std::integral_constant<Part, kLower>{});
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
      p.row_strips = min(kTileStrips / 2, kEach - 2 * p.half);
    }
    const int first = p.row_tile * kEach + 2 * p.half;
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

}  // namespace likewise::cuda
