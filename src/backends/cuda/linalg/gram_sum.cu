// SPDX-License-Identifier: Apache-2.0
/// Gram matrices of tall tables (dense.h): tiles of at most 128 x 128 over splits of the rows
/// (gram_sum.cuh), then the sum over the splits in float64, in fixed order.
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/linalg/dense.h"
#include "backends/cuda/linalg/gram_sum.cuh"

namespace likewise::cuda {
namespace {

using gram::kGroup;
using gram::Problem;

constexpr int kMaxGroups = 8;   // groups along a tile of the Gram matrix
constexpr int kMaxRows = 4096;  // summed in float32
constexpr int kLeastSplits = 32;
constexpr int kLeastRows = 160;  // of a split: shorter ones cost more to add up than they save

constexpr int kSumRows = 16;

/// gram = or += the sum of the partial matrices: 32 neighbouring numbers of one row a block, their
/// splits assigned to 16 warps.
__global__ void __launch_bounds__(32 * kSumRows)
    add_partial(const float* __restrict__ partial, int splits, int padded, bool more,
                double* __restrict__ gram) {
  __shared__ double sums[kSumRows][32];
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int part = static_cast<int>(threadIdx.x) / 32;
  const int row = static_cast<int>(blockIdx.y);
  const int column = static_cast<int>(blockIdx.x) * 32 + lane;
  if (static_cast<int>(blockIdx.x) * 32 > row) return;
  const Offset size = static_cast<Offset>(padded) * padded;
  double sum = 0.0;
  if (column <= row) {
#pragma unroll 4
    for (int s = part; s < splits; s += kSumRows) sum += partial[s * size + row * padded + column];
  }
  sums[part][lane] = sum;
  __syncthreads();
  if (part > 0 || column > row) return;
  for (int p = 1; p < kSumRows; ++p) sum += sums[p][lane];
  if (more) sum += gram[row * padded + column];
  gram[row * padded + column] = sum;
  gram[column * padded + row] = sum;
}

template <class Shape>
void launch(const Problem& problem, int splits, int tiles, cudaStream_t stream) {
  const auto kernel =
      problem.weights == nullptr ? gram::sum_tile<Shape, false> : gram::sum_tile<Shape, true>;
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Shape::kShared));
  kernel<<<dim3(static_cast<unsigned>(splits), static_cast<unsigned>(tiles)), Shape::kThreads,
           Shape::kShared, stream>>>(problem);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <int kSide>
void sum_tiles(const Problem& problem, int splits, int along, cudaStream_t stream) {
  if (along == 1) return launch<gram::Cut<kSide, true, true>>(problem, splits, 1, stream);
  // The fewest groups beyond one tile are nine, and two tiles of them have five along a side.
  if constexpr (kSide > kMaxGroups / 2) {
    launch<gram::Cut<kSide, true, false>>(problem, splits, along, stream);
    launch<gram::Cut<kSide, false, false>>(problem, splits, along * (along - 1) / 2, stream);
  }
}

void sum_tiles(const Problem& problem, int side, int splits, int along, cudaStream_t stream) {
  switch (side) {
    case 1:
      return sum_tiles<1>(problem, splits, along, stream);
    case 2:
      return sum_tiles<2>(problem, splits, along, stream);
    case 3:
      return sum_tiles<3>(problem, splits, along, stream);
    case 4:
      return sum_tiles<4>(problem, splits, along, stream);
    case 5:
      return sum_tiles<5>(problem, splits, along, stream);
    case 6:
      return sum_tiles<6>(problem, splits, along, stream);
    case 7:
      return sum_tiles<7>(problem, splits, along, stream);
    default:
      return sum_tiles<8>(problem, splits, along, stream);
  }
}

[[nodiscard]] int tiles_along(int padded) {
  return (padded / kGroup + kMaxGroups - 1) / kMaxGroups;
}

[[nodiscard]] int splits_of_round(int along) {
  const int tiles = along * (along + 1) / 2;
  return std::max(kLeastSplits, (2 * multiprocessor_count() + tiles - 1) / tiles);
}

}  // namespace

GramSum::GramSum(int padded)
    : padded_(padded),
      tiles_(tiles_along(padded)),
      side_((padded / kGroup + tiles_ - 1) / tiles_),
      splits_(splits_of_round(tiles_)),
      partial_(Offset{splits_} * padded * padded) {}

Offset GramSum::bytes(int padded) {
  return Offset{splits_of_round(tiles_along(padded))} * padded * padded * Offset{sizeof(float)};
}

Index GramSum::rows_per_split(Index rows) const {
  // Rounds of `splits_` splits, as many as keep a split under kMaxRows.
  const Offset round_rows = Offset{kMaxRows} * splits_;
  const Offset rounds = std::max<Offset>(1, (rows + round_rows - 1) / round_rows);
  const Offset wanted = (rows + rounds * splits_ - 1) / (rounds * splits_);
  return static_cast<Index>(std::max<Offset>(kLeastRows, (wanted + 15) / 16 * 16));
}

void GramSum::add(const float* y, Index first, Index count, Index rows, const float* weights,
                  double* gram, cudaStream_t stream) {
  const Index each = rows_per_split(rows);
  const Offset size = Offset{padded_} * padded_;
  const dim3 sums(static_cast<unsigned>((padded_ + 31) / 32), static_cast<unsigned>(padded_));
  const auto end = static_cast<int>((Offset{first} + count + each - 1) / each);
  int split = first / each;
  do {
    const int place = split % splits_;  // in its round
    const int now = std::min(end - split, splits_ - place);
    const Problem problem{
        moved_back(y, Offset{first} * padded_), weights, rows, padded_, each, split,
        partial_.data() + place * size};
    if (now > 0) sum_tiles(problem, side_, now, tiles_, stream);
    split += now;
    if (place + now < splits_ && first + count < rows) continue;  // the round goes on
    add_partial<<<sums, 32 * kSumRows, 0, stream>>>(partial_.data(), place + now, padded_,
                                                    split > place + now, gram);
    LIKEWISE_CUDA_CHECK_LAUNCH();
  } while (split < end);
}

void GramSum::run(const float* y, Index rows, const float* weights, double* gram,
                  cudaStream_t stream) {
  add(y, 0, rows, rows, weights, gram, stream);
}

}  // namespace likewise::cuda
