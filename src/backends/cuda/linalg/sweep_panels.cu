// SPDX-License-Identifier: Apache-2.0
/// Panels of the sweeps (sweep_panels.h). A block has a tile of 32 x 32 numbers of the panel; left
/// of the rows' own square it lies transposed in the matrix, and goes through shared memory.
#include "backends/cuda/device/check.h"
#include "backends/cuda/linalg/sweep_panels.h"

namespace likewise::cuda {
namespace {

constexpr int kSide = 32;
constexpr int kLines = 8;
using Tile = float[kSide][kSide + 1];

/// visit(line, lane) for the tile's lines, of which a warp has every eighth.
template <class Visit>
__device__ __forceinline__ void for_lines(const Visit& visit) {
#pragma unroll
  for (int line = 0; line < kSide; line += kLines) {
    visit(line + static_cast<int>(threadIdx.y), static_cast<int>(threadIdx.x));
  }
}

struct Place {
  Index row;     ///< of the panel
  Index column;  ///< of the matrix
};
__device__ __forceinline__ Place place() {
  return {static_cast<Index>(blockIdx.y) * kSide, static_cast<Index>(blockIdx.x) * kSide};
}

__device__ __forceinline__ float* cell(const SymmetricRows& rows, Index i, Index j) {
  return rows.a + Offset{i} * rows.order + j;
}

__global__ void __launch_bounds__(kSide* kLines)
    gather_kernel(SymmetricRows rows, float* panel, double* square) {
  __shared__ Tile tile;
  const Place at = place();
  const Index own = at.column - rows.first;  // column of the square
  const bool left = own < 0;
  for_lines([&](int line, int lane) {
    const Index i = left ? at.column + line : rows.first + at.row + line;
    const Index j = left ? rows.first + at.row + lane : at.column + lane;
    const bool inside = left ? at.row + lane < rows.count
                             : at.row + line < rows.count && at.column + lane < rows.order;
    tile[line][lane] = inside ? *cell(rows, min(i, j), max(i, j)) : 0.0F;
  });
  __syncthreads();
  const bool inner = own >= 0 && own < rows.count;
  for_lines([&](int line, int lane) {
    const Index row = at.row + line;
    const Index column = at.column + lane;
    if (row >= rows.count || column >= rows.order) return;
    const float value = left ? tile[lane][line] : tile[line][lane];
    panel[Offset{row} * rows.order + column] = inner ? 0.0F : value;
    if (inner) square[row * rows.count + own + lane] = double{value};
  });
}

__global__ void __launch_bounds__(kSide* kLines)
    put_kernel(SymmetricRows rows, const float* panel, const float* square) {
  __shared__ Tile tile;
  const Place at = place();
  const Index own = at.column - rows.first;
  const bool left = own < 0;
  const bool inner = own >= 0 && own < rows.count;
  for_lines([&](int line, int lane) {
    const Index row = at.row + line;
    const Index column = at.column + lane;
    if (row >= rows.count || column >= rows.order) return;
    const float value =
        inner ? -square[row * rows.count + own + lane] : panel[Offset{row} * rows.order + column];
    if (left) {
      tile[line][lane] = value;
    } else {
      *cell(rows, rows.first + row, column) = value;
    }
  });
  if (!left) return;
  __syncthreads();
  for_lines([&](int line, int lane) {
    if (at.row + lane >= rows.count) return;
    *cell(rows, at.column + line, rows.first + at.row + lane) = tile[lane][line];
  });
}

dim3 grid_of(const SymmetricRows& rows) {
  const auto tiles = [](Index count) { return static_cast<unsigned>((count + kSide - 1) / kSide); };
  return {tiles(rows.order), tiles(rows.count)};
}

}  // namespace

void gather_rows(const SymmetricRows& rows, float* panel, double* square, cudaStream_t stream) {
  gather_kernel<<<grid_of(rows), dim3{kSide, kLines}, 0, stream>>>(rows, panel, square);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void put_rows(const SymmetricRows& rows, const float* panel, const float* square,
              cudaStream_t stream) {
  put_kernel<<<grid_of(rows), dim3{kSide, kLines}, 0, stream>>>(rows, panel, square);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
