// SPDX-License-Identifier: Apache-2.0
/// A warp takes a row of the matrix and up to 128 columns of the block, four of them a lane; where
/// the block is narrower, groups of lanes take entries in turn. All warps share a long row.
#include <algorithm>

#include "backends/cuda/device/check.h"
#include "backends/cuda/spectral/sparse_product.h"

namespace likewise::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kWarps = kThreads / 32;
constexpr unsigned kAll = 0xFFFFFFFFU;
/// Entries of a row that all warps of a block share.
constexpr Offset kLong = 512;

template <class Sum>
struct Four {
  Sum x = 0;
  Sum y = 0;
  Sum z = 0;
  Sum w = 0;

  __device__ void add(Sum value, const float4& from) {
    x += value * static_cast<Sum>(from.x);
    y += value * static_cast<Sum>(from.y);
    z += value * static_cast<Sum>(from.z);
    w += value * static_cast<Sum>(from.w);
  }
  __device__ void add(const Four& other) {
    x += other.x;
    y += other.y;
    z += other.z;
    w += other.w;
  }
  /// Sums over lanes that are so far apart.
  __device__ void add_lanes(int distance) {
    x += __shfl_xor_sync(kAll, x, distance);
    y += __shfl_xor_sync(kAll, y, distance);
    z += __shfl_xor_sync(kAll, z, distance);
    w += __shfl_xor_sync(kAll, w, distance);
  }
  [[nodiscard]] __device__ float4 rounded() const {
    return {static_cast<float>(x), static_cast<float>(y), static_cast<float>(z),
            static_cast<float>(w)};
  }
};

/// The value of entry `e`.
template <class Sum>
[[nodiscard]] __device__ Sum value_of(const SparseRows& a, Offset e, Index column) {
  if constexpr (sizeof(Sum) == sizeof(double)) {
    return double{a.values[e]} * a.scale[column];
  } else {
    return a.values[e];
  }
}

/// Sums of entries [begin, end), the same in all groups of kLanes lanes; `x` is at the lane's four
/// columns.
template <class Sum, int kLanes>
[[nodiscard]] __device__ Four<Sum> sum_entries(const SparseRows& a, Offset begin, Offset end,
                                               const float* x, Index stride) {
  constexpr int kGroups = 32 / kLanes;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int group = lane / kLanes;
  Four<Sum> sum;
  for (Offset first = begin; first < end; first += 32) {
    const auto count = static_cast<int>(end - first < 32 ? end - first : 32);
    const Index column = lane < count ? a.columns[first + lane] : 0;
    const Sum value = lane < count ? value_of<Sum>(a, first + lane, column) : Sum{0};
#pragma unroll 8
    for (int e = 0; e < count; e += kGroups) {
      const Index from = __shfl_sync(kAll, column, e + group);
      const Sum times = __shfl_sync(kAll, value, e + group);
      sum.add(times, *reinterpret_cast<const float4*>(x + Offset{from} * stride));
    }
  }
#pragma unroll
  for (int distance = kLanes; distance < 32; distance *= 2) sum.add_lanes(distance);
  return sum;
}

template <class Sum, int kLanes>
__global__ void __launch_bounds__(kThreads)
    multiply_kernel(SparseRows a, const float* x, Index stride, float* out) {
  __shared__ Four<Sum> parts[kWarps][kLanes];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const Index column =
      static_cast<Index>(blockIdx.y) * kLanes * 4 + static_cast<Index>(lane % kLanes) * 4;
  const bool is_there = column < stride;
  const float* const from = x + (is_there ? column : 0);
  const Index begin = static_cast<Index>(blockIdx.x) * kWarps;
  const auto put = [&](Index row, const Four<Sum>& sum) {
    if (lane >= kLanes || !is_there) return;
    *reinterpret_cast<float4*>(out + Offset{row} * stride + column) = sum.rounded();
  };
  const auto is_long = [&](Index row) {
    return a.offsets[a.first + row + 1] - a.offsets[a.first + row] >= kLong;
  };

  const Index own = begin + warp;
  if (own < a.rows && !is_long(own)) {
    put(own, sum_entries<Sum, kLanes>(a, a.offsets[a.first + own], a.offsets[a.first + own + 1],
                                      from, stride));
  }
  for (Index row = begin; row < min(begin + kWarps, a.rows); ++row) {
    if (!is_long(row)) continue;
    const Offset first = a.offsets[a.first + row];
    const Offset end = a.offsets[a.first + row + 1];
    const Offset each = (end - first + kWarps - 1) / kWarps;
    const Offset own_first = min(end, first + warp * each);
    const Four<Sum> part =
        sum_entries<Sum, kLanes>(a, own_first, min(end, own_first + each), from, stride);
    if (lane < kLanes) parts[warp][lane] = part;
    __syncthreads();
    if (warp == 0 && lane < kLanes) {
      Four<Sum> sum;
      for (int w = 0; w < kWarps; ++w) sum.add(parts[w][lane]);
      put(row, sum);
    }
    __syncthreads();
  }
}

template <class Sum, int kLanes>
void launch(const SparseRows& a, const float* x, Index stride, float* out, cudaStream_t stream) {
  const auto blocks = static_cast<unsigned>((a.rows + kWarps - 1) / kWarps);
  const auto chunks = static_cast<unsigned>((stride + kLanes * 4 - 1) / (kLanes * 4));
  multiply_kernel<Sum, kLanes><<<dim3{blocks, chunks}, kThreads, 0, stream>>>(a, x, stride, out);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

template <class Sum>
void multiply(const SparseRows& a, const float* x, Index stride, float* out, cudaStream_t stream) {
  if (a.rows == 0 || stride == 0) return;
  if (stride <= 16) return launch<Sum, 4>(a, x, stride, out, stream);
  if (stride <= 32) return launch<Sum, 8>(a, x, stride, out, stream);
  if (stride <= 64) return launch<Sum, 16>(a, x, stride, out, stream);
  launch<Sum, 32>(a, x, stride, out, stream);
}

}  // namespace

void multiply_sparse(const SparseRows& a, const float* x, Index stride, float* out,
                     cudaStream_t stream) {
  multiply<float>(a, x, stride, out, stream);
}

void multiply_scaled(const SparseRows& a, const float* x, Index stride, float* out,
                     cudaStream_t stream) {
  multiply<double>(a, x, stride, out, stream);
}

}  // namespace likewise::cuda
