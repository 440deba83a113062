// SPDX-License-Identifier: Apache-2.0
/// How a row's matrix of 97 to 128 columns is divided among two warps: half of its lower triangle
/// each. They meet less often than four, and fewer strips are loaded twice.
///
/// Of kStrips strips the first warp has the column strips 0 to 3 down to row strip kSplit - 1; the
/// second the strips from 4 on, and the row strips from kSplit on of the columns 0 to 3.
#pragma once

#include <type_traits>

#include "backends/cuda/device/warp.cuh"

namespace likewise::cuda {

template <int kStripCount>
struct PairShape {
  static constexpr int kStrips = kStripCount;
  static_assert(kStrips == 7 || kStrips == 8, "the warps' work is equal for these");
  static constexpr int kPadded = 16 * kStrips;
  static constexpr int kEach = 4;  ///< strips whose right-hand sides a warp sums
  static constexpr int kSplit = kStrips - 2;
  static constexpr int kWarps = 2;
  static constexpr int kThreads = 32 * kWarps;
  static constexpr int kBlocks = 4;                          ///< of a multiprocessor
  static constexpr int kColumns = (kPadded + 63) / 64 * 64;  ///< a vector's place
  static constexpr int kPartials = 4;  ///< rows' and columns' parts of both warps
  static constexpr int kStageFactor = 1;
  static constexpr int kRight = kStrips * (kStrips + 1) / 2;  ///< 16 x 8 products of a warp
  static constexpr int kProducts = kRight + kEach;
  using Sums = float[kProducts][4];

  struct Place {
    int role, lane, g, t;
  };
  enum class Part { kFirst, kSecond };

  static __host__ __device__ constexpr int row_begin(Part part) {
    return part == Part::kFirst ? 0 : kEach;
  }
  static __host__ __device__ constexpr int row_end(Part part) {
    return part == Part::kFirst ? kSplit : kStrips;
  }
  /// Columns whose diagonal strip the warp has, from row_begin() on, end here.
  static __host__ __device__ constexpr int diagonal_end(Part part) {
    return part == Part::kFirst ? kEach : kStrips;
  }

  /// Whether a warp has the square of column strip i and row strip j.
  static __host__ __device__ constexpr bool has(Part part, int i, int j) {
    if (j < i) return false;
    return part == Part::kFirst ? i < kEach && j < kSplit : i >= kEach || j >= kSplit;
  }
  /// Where its sums are: this product and the next.
  static __host__ __device__ constexpr int index(Part part, int i, int j) {
    if (part == Part::kFirst) return 2 * (i * kSplit - i * (i - 1) / 2 + j - i);
    constexpr int kRows = kStrips - kEach;
    const int own = i - kEach;
    if (own >= 0) return 2 * (own * kRows - own * (own - 1) / 2 + j - i);
    return 2 * (kRows * (kRows + 1) / 2 + i * (kStrips - kSplit) + j - kSplit);
  }

  template <class Visit>
  static __device__ __forceinline__ void for_part(const Place& p, Visit visit) {
    if (p.role == 0) {
      visit(std::integral_constant<Part, Part::kFirst>{});
    } else {
      visit(std::integral_constant<Part, Part::kSecond>{});
    }
  }

  /// Roles turn from block to block, so that all schedulers of a multiprocessor get equal work.
  static __device__ __forceinline__ Place place() {
    const int lane = static_cast<int>(threadIdx.x) % 32;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    return {(warp + static_cast<int>(blockIdx.x)) % kWarps, lane, lane >> 2, lane & 3};
  }
  static __device__ __forceinline__ void synchronize() { __syncthreads(); }
};

}  // namespace likewise::cuda
