// SPDX-License-Identifier: Apache-2.0
/// Products of tall tables with small matrices (dense.h).
#include <algorithm>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/linalg/dense.h"
#include "backends/cuda/linalg/multiply_rows.cuh"

namespace likewise::cuda {
namespace {

using rows::KeepLargest;
using rows::kGroup;
using rows::kNarrow;
using rows::kNarrowThreads;
using rows::kWideRows;
using rows::kWideThreads;
using rows::StoreFloat;
using rows::StoreHalf;

int piece_bytes(int steps) { return steps * steps * 64 * static_cast<int>(sizeof(SplitColumn)); }

template <int kSteps, class Out>
void launch_narrow(const float* a, Index rows, const SplitMatrix& b, const Out& out,
                   cudaStream_t stream) {
  const auto kernel = rows::multiply_narrow<kSteps, Out>;
  const int bytes = piece_bytes(kSteps);
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  constexpr int kRows = kNarrowThreads / 32 * kGroup;
  const Offset blocks =
      std::min<Offset>(2 * multiprocessor_count(), (Offset{rows} + kRows - 1) / kRows);
  kernel<<<static_cast<unsigned>(blocks), kNarrowThreads, bytes, stream>>>(
      a, rows, static_cast<const SplitColumn*>(b.parts()), b.unscale(), out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <int kSteps, bool kStay, class Out>
void launch_wide(const float* a, Index rows, const SplitMatrix& b, const Out& out,
                 cudaStream_t stream) {
  const auto kernel = rows::multiply_wide<kSteps, kStay, Out>;
  const int bytes = 2 * piece_bytes(kSteps);
  LIKEWISE_CUDA_CHECK(
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes));
  Offset strips = (Offset{rows} + kWideRows - 1) / kWideRows;
  if (kStay) strips = std::min<Offset>(strips, std::max(1, multiprocessor_count() / 2));
  kernel<<<static_cast<unsigned>(strips * b.pieces()), kWideThreads, bytes, stream>>>(
      a, rows, b.padded(), b.pieces(), static_cast<const SplitColumn*>(b.parts()), b.unscale(),
      out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <int kSteps, class Out>
void launch(const float* a, Index rows, const SplitMatrix& b, const Out& out, cudaStream_t stream) {
  if (b.pieces() == 1) return launch_narrow<kSteps>(a, rows, b, out, stream);
  // The fewest groups beyond one piece are nine, and two pieces of them have five steps.
  if constexpr (kSteps > 4) {
    if (b.pieces() == 2) return launch_wide<kSteps, true>(a, rows, b, out, stream);
    return launch_wide<kSteps, false>(a, rows, b, out, stream);
  }
}

template <class Out>
void launch(const float* a, Index rows, const SplitMatrix& b, const Out& out, cudaStream_t stream) {
  if (rows == 0) return;
  switch (b.steps()) {
    case 1:
      return launch<1>(a, rows, b, out, stream);
    case 2:
      return launch<2>(a, rows, b, out, stream);
    case 3:
      return launch<3>(a, rows, b, out, stream);
    case 4:
      return launch<4>(a, rows, b, out, stream);
    case 5:
      return launch<5>(a, rows, b, out, stream);
    case 6:
      return launch<6>(a, rows, b, out, stream);
    case 7:
      return launch<7>(a, rows, b, out, stream);
    default:
      return launch<8>(a, rows, b, out, stream);
  }
}

}  // namespace

SplitMatrix::SplitMatrix(int padded) : padded_(padded) {
  const int groups = padded / kGroup;
  int widest = kNarrow / kGroup;
  if (padded > kNarrow) {
    const int shared = largest_shared_memory();
    while (2 * piece_bytes(widest) > shared) --widest;
  }
  pieces_ = (groups + widest - 1) / widest;
  steps_ = (groups + pieces_ - 1) / pieces_;
  const int padded_groups = pieces_ * steps_;
  parts_ = DeviceArray<uint4>(Offset{padded_groups} * padded_groups * 64);
  unscale_ = DeviceArray<float>(Offset{padded_groups} * kGroup);
}

void SplitMatrix::set(const float* b, cudaStream_t stream) {
  rows::split_columns<<<static_cast<unsigned>(pieces_ * steps_), 256, 0, stream>>>(
      b, padded_, pieces_, steps_, reinterpret_cast<SplitColumn*>(parts_.data()), unscale_.data());
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

void multiply_rows(const float* a, Index rows, const SplitMatrix& b, float* c,
                   cudaStream_t stream) {
  launch(a, rows, b, StoreFloat{c}, stream);
}

void multiply_rows_half(const float* a, Index rows, const SplitMatrix& b, const float* scale,
                        __half* c, cudaStream_t stream) {
  launch(a, rows, b, StoreHalf{scale, c}, stream);
}

void multiply_rows_absmax(const float* a, Index rows, const SplitMatrix& b, float* absmax,
                          cudaStream_t stream) {
  fill_zero(absmax, 1, stream);
  launch(a, rows, b, KeepLargest{reinterpret_cast<unsigned*>(absmax)}, stream);
}

}  // namespace likewise::cuda
