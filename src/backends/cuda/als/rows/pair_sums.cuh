// SPDX-License-Identifier: Apache-2.0
/// Sums a row's matrix and right-hand side in the registers of two warps, and multiplies with them.
#pragma once

#include "backends/cuda/als/rows/layout.cuh"
#include "backends/cuda/als/rows/pieces.cuh"
#include "backends/cuda/als/rows/scatter.cuh"
#include "backends/cuda/device/mma.cuh"

namespace likewise::cuda {

template <class Format, int kStrips>
struct PairSums : RowPieces<PairShape<kStrips>> {
  using Shape = PairShape<kStrips>;
  using Part = typename Shape::Part;
  using Place = typename Shape::Place;
  using Sums = typename Shape::Sums;
  using Strip = typename Format::Strip;
  static constexpr int kRight = Shape::kRight;
  static constexpr int kPitch = Format::pitch(Shape::kPadded);
  static constexpr int kWeightRow = Format::kStageRows * Shape::kStageFactor * Format::kBytes;
  static constexpr int kUnroll = 1;  ///< groups of interactions at a time: registers are short

  /// Adds one group of interactions.
  template <Part kPart>
  static __device__ __forceinline__ void add_group(const Place& p, std::uint32_t rows,
                                                   const unsigned char* w_at, Sums& sums) {
    constexpr int kBegin = Shape::row_begin(kPart);
    constexpr int kEnd = Shape::row_end(kPart);
    std::uint32_t w[2];
    Format::load_weights(w, w_at, p.lane);
    // Columns 0 .. kParts - 1 of a right operand hold the parts of v, the others nothing.
    std::uint32_t v[2] = {0U, 0U};
    if (p.g < Format::kParts) Format::load_weights(v, w_at + (1 + p.g) * kWeightRow, p.lane);
    Strip a[kEnd - kBegin];
#pragma unroll
    for (int j = kBegin; j < kEnd; ++j) Format::load(a[j - kBegin], rows, kPitch, 16 * j, p.lane);
    const auto add_column = [&](int i, const Strip& strip) {
      Strip scaled;
      Format::scale(scaled, strip, w);
#pragma unroll
      for (int j = kBegin; j < kEnd; ++j) {
        if (!Shape::has(kPart, i, j)) continue;
        const int at = Shape::index(kPart, i, j);
        Format::multiply(sums[at], a[j - kBegin], scaled, 0);
        Format::multiply(sums[at + 1], a[j - kBegin], scaled, 1);
      }
    };
#pragma unroll
    for (int i = kBegin; i < Shape::diagonal_end(kPart); ++i) {
      Format::multiply_column(sums[kRight + i - kBegin], a[i - kBegin], v);
      add_column(i, a[i - kBegin]);
    }
    if constexpr (kPart == Part::kSecond) {
#pragma unroll
      for (int i = 0; i < Shape::kEach; ++i) {
        Strip b;
        Format::load(b, rows, kPitch, 16 * i, p.lane);
        add_column(i, b);
      }
    }
  }

  /// partial = this warp's parts of the product of the summed matrix with its vector: of its rows,
  /// and of its columns by the transpose.
  template <Part kPart>
  static __device__ __forceinline__ void multiply_sums(const Place& p, const Sums& sums,
                                                       const float* vector, float* partial) {
    constexpr int kBegin = Shape::row_begin(kPart);
    constexpr int kEnd = Shape::row_end(kPart);
    constexpr int kRows = kEnd - kBegin;
    constexpr int kWidth = Shape::diagonal_end(kPart);  // column strips, from 0
    constexpr int kLeftRows = (2 * kRows + 3) / 4;      // four lanes share a row's numbers
    constexpr int kLeftColumns = (4 * kWidth + 7) / 8;  // eight a column's
    static_assert(kLeftColumns % 2 == 0);
    float by_row[4 * kLeftRows] = {};
    float by_column[8 * kLeftColumns] = {};
    float x[2 * kRows];  // the vector's numbers of this lane's rows
#pragma unroll
    for (int j = 0; j < 2 * kRows; ++j) x[j] = vector[16 * kBegin + 8 * j + p.g];
#pragma unroll
    for (int n = 0; n < 2 * kWidth; ++n) {
      const float2 y = *reinterpret_cast<const float2*>(vector + 8 * n + 2 * p.t);
#pragma unroll
      for (int j = kBegin; j < kEnd; ++j) {
        if (!Shape::has(kPart, n / 2, j)) continue;
        const int row = 2 * (j - kBegin);
        const float(&sum)[4] = sums[Shape::index(kPart, n / 2, j) + n % 2];
        by_row[row] = fmaf(sum[0], y.x, by_row[row]);
        by_row[row] = fmaf(sum[1], y.y, by_row[row]);
        by_row[row + 1] = fmaf(sum[2], y.x, by_row[row + 1]);
        by_row[row + 1] = fmaf(sum[3], y.y, by_row[row + 1]);
        if (n / 2 < j) {  // the diagonal's squares are whole
          by_column[2 * n] = fmaf(sum[0], x[row], by_column[2 * n]);
          by_column[2 * n] = fmaf(sum[2], x[row + 1], by_column[2 * n]);
          by_column[2 * n + 1] = fmaf(sum[1], x[row], by_column[2 * n + 1]);
          by_column[2 * n + 1] = fmaf(sum[3], x[row + 1], by_column[2 * n + 1]);
        }
      }
    }
    scatter_sum<4 * kLeftRows, 1, 2>(by_row, p.lane);
    scatter_sum<8 * kLeftColumns, 4, 16>(by_column, p.lane);
    constexpr int kSlot = kPart == Part::kFirst ? 0 : 2;
    // Number 2 j + h of by_row is row 16 j + 8 h + g, number 2 n + h of by_column column
    // 8 n + 2 t + h.
    float* rows = partial + kSlot * Shape::kColumns + 16 * kBegin + p.g;
    const int first_row = kLeftRows * (2 * (p.t & 1) + (p.t >> 1));
#pragma unroll
    for (int i = 0; i < kLeftRows; ++i) {
      if (first_row + i < 2 * kRows) rows[8 * (first_row + i)] = by_row[i];
    }
    float* columns = partial + (kSlot + 1) * Shape::kColumns + 2 * p.t;
    const int first = kLeftColumns * (4 * (p.g & 1) + 2 * ((p.g >> 1) & 1) + (p.g >> 2));
#pragma unroll
    for (int i = 0; i < kLeftColumns; i += 2) {
      if (first + i < 4 * kWidth) {
        *reinterpret_cast<float2*>(columns + 4 * (first + i)) =
            make_float2(by_column[i], by_column[i + 1]);
      }
    }
  }

  /// The parts of a right-hand side, added, to shared memory.
  static __device__ __forceinline__ void put_right(const Place& p, const Sums& sums, float* to) {
#pragma unroll
    for (int i = 0; i < Shape::kEach; ++i) {
      float upper = 0.0F;
      float lower = 0.0F;
      RowPieces<Shape>::right_of(sums[kRight + i], p.t, upper, lower);
      const int strip = Shape::kEach * p.role + i;
      if (strip < kStrips && p.t == 0) {
        to[16 * strip + p.g] = upper;
        to[16 * strip + 8 + p.g] = lower;
      }
    }
  }
};

}  // namespace likewise::cuda
