// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/device/check.h"
#include "backends/cuda/ease/ease_weights.h"

namespace likewise::cuda {
namespace {

constexpr int kSide = 32;
constexpr int kLines = 8;
constexpr int kScaleThreads = 256;

/// What rows and columns are multiplied by.
__global__ void __launch_bounds__(kScaleThreads) scales_kernel(EaseInverse inverse) {
  const auto i = static_cast<Index>(blockIdx.x * kScaleThreads + threadIdx.x);
  if (i >= inverse.order) return;
  const double row = i < inverse.items ? inverse.of_row[i] * inverse.shrinks[i] : 0.0;
  const double q = -double{inverse.a[Offset{i} * inverse.order + i]};
  inverse.room[i] = static_cast<float>(row);
  inverse.room[inverse.order + i] = row > 0.0 ? static_cast<float>(1.0 / (row * q)) : 0.0F;
}

/// A block has a tile above the diagonal, or on it, and the one below that mirrors it.
__global__ void __launch_bounds__(kSide* kLines) weights_kernel(EaseInverse inverse) {
  __shared__ float tile[kSide][kSide + 1];
  if (blockIdx.x < blockIdx.y) return;
  const Index order = inverse.order;
  const Index row = static_cast<Index>(blockIdx.y) * kSide;
  const Index column = static_cast<Index>(blockIdx.x) * kSide;
  const auto lane = static_cast<Index>(threadIdx.x);
  const float* const of_row = inverse.room;
  const float* const of_column = inverse.room + order;
  for (Index line = static_cast<Index>(threadIdx.y); line < kSide; line += kLines) {
    const Index i = row + line;
    const Index j = column + lane;
    if (i >= order || j >= order || i > j) continue;
    float* const at = inverse.a + Offset{i} * order + j;
    const float value = i == j ? 0.0F : *at;
    tile[line][lane] = value;
    *at = of_row[i] * value * of_column[j];
  }
  __syncthreads();
  for (Index line = static_cast<Index>(threadIdx.y); line < kSide; line += kLines) {
    const Index i = column + line;
    const Index j = row + lane;
    if (i >= order || j >= order || i <= j) continue;
    inverse.a[Offset{i} * order + j] = of_row[i] * tile[lane][line] * of_column[j];
  }
}

}  // namespace

void make_ease_weights(const EaseInverse& inverse, cudaStream_t stream) {
  const auto tiles = static_cast<unsigned>((inverse.order + kSide - 1) / kSide);
  scales_kernel<<<static_cast<unsigned>((inverse.order + kScaleThreads - 1) / kScaleThreads),
                  kScaleThreads, 0, stream>>>(inverse);
  weights_kernel<<<dim3{tiles, tiles}, dim3{kSide, kLines}, 0, stream>>>(inverse);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace likewise::cuda
