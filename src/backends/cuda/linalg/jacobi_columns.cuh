// SPDX-License-Identifier: Apache-2.0
/// One-sided Jacobi rotations of the columns of a matrix in shared memory, by one block.
#pragma once

#include <cstdint>

namespace likewise::cuda::jacobi {

/// The last sweep is one that meets no larger cosine, or none that its rotations could spread:
/// what a sweep leaves of the cosines is the product of both. In a cluster of eigenvalues rotations
/// stay large to the end.
constexpr float kLastCosine = 1e-7F;
constexpr float kLastProduct = 1e-8F;
constexpr double kSmallCosine = 1e-9;  // not worth a rotation
constexpr int kMostSweeps = 40;        // 8 to 13 from a cold start, 3 to 9 from a warm one

constexpr int kThreads = 512;
constexpr int kLanes = 16;  // that share a meeting of columns
constexpr int kGroups = kThreads / kLanes;
constexpr int kMaxWidth = 4 * kGroups;

/// The sum over kCount neighbouring lanes, in all of them.
template <int kCount>
__device__ __forceinline__ double sum_of_lanes(double x) {
#pragma unroll
  for (int distance = kCount / 2; distance > 0; distance /= 2) {
    x += __shfl_xor_sync(0xFFFFFFFFU, x, distance);
  }
  return x;
}

/// The largest cosine and the largest tangent of a rotation that a thread has met in a sweep.
struct Worst {
  float cosine = 0.0F;
  float tangent = 0.0F;
};

struct Rotation {
  double cosine = 1.0;
  double sine = 0.0;
};

/// The rotation x' = c x - s y, y' = s x + c y that makes two columns orthogonal, from their
/// squares xx, yy (which follow) and their product.
__device__ __forceinline__ Rotation rotation_of(double& xx, double& yy, double xy, Worst& worst) {
  if (!(xy * xy > kSmallCosine * kSmallCosine * xx * yy)) return {};
  // tan(2 a) = 2 x.y / (y.y - x.x), the smaller angle. A float32 angle leaves 1e-7 of x.y, but
  // cos^2 + sin^2 = 1 must hold to the last bit.
  const auto product = static_cast<float>(xy);
  const float zeta = static_cast<float>(yy - xx) / (2.0F * product);
  const float size = 1.0F / (fabsf(zeta) + sqrtf(1.0F + zeta * zeta));
  worst.tangent = fmaxf(worst.tangent, size);
  worst.cosine =
      fmaxf(worst.cosine, fabsf(product) * rsqrtf(static_cast<float>(xx) * static_cast<float>(yy)));
  const double tangent = copysignf(size, zeta);
  const double cosine = rsqrt(1.0 + tangent * tangent);
  xx -= tangent * xy;
  yy += tangent * xy;
  return {cosine, cosine * tangent};
}

/// Sixteen lanes' share of a column: numbers lane, lane + 16, ...
template <int kShare>
struct Column {
  double at[kShare];

  __device__ __forceinline__ void load(const double* column, int lane) {
#pragma unroll
    for (int i = 0; i < kShare; ++i) at[i] = column[i * kLanes + lane];
  }
  __device__ __forceinline__ void clear() {
#pragma unroll
    for (int i = 0; i < kShare; ++i) at[i] = 0.0;
  }
  __device__ __forceinline__ void store(double* column, int lane) const {
#pragma unroll
    for (int i = 0; i < kShare; ++i) column[i * kLanes + lane] = at[i];
  }
  [[nodiscard]] __device__ __forceinline__ double dot(const Column& other) const {
    double sum = 0.0;
#pragma unroll
    for (int i = 0; i < kShare; ++i) sum += at[i] * other.at[i];
    return sum;
  }
  __device__ __forceinline__ void rotate(Column& other, const Rotation& by) {
#pragma unroll
    for (int i = 0; i < kShare; ++i) {
      const double x = at[i];
      const double y = other.at[i];
      at[i] = by.cosine * x - by.sine * y;
      other.at[i] = by.sine * x + by.cosine * y;
    }
  }
};

/// The columns of M in shared memory, and their squares.
template <int kShare>
struct Columns {
  double* first;
  double* squares;

  [[nodiscard]] __device__ __forceinline__ double* at(int j) const {
    return first + j * kShare * kLanes;
  }

  /// Columns 2k and 2k + 1, with their squares afresh.
  __device__ __forceinline__ void rotate_neighbours(int k, int lane, Worst& worst) const {
    Column<kShare> x;
    Column<kShare> y;
    x.load(at(2 * k), lane);
    y.load(at(2 * k + 1), lane);
    double xx = sum_of_lanes<kLanes>(x.dot(x));
    double yy = sum_of_lanes<kLanes>(y.dot(y));
    x.rotate(y, rotation_of(xx, yy, sum_of_lanes<kLanes>(x.dot(y)), worst));
    x.store(at(2 * k), lane);
    y.store(at(2 * k + 1), lane);
    if (lane == 0) {
      squares[2 * k] = xx;
      squares[2 * k + 1] = yy;
    }
  }

  /// Columns 2k and 2k + 1 with 2l and 2l + 1: four rotations in two steps. In each step the lower
  /// eight lanes work out one rotation and the upper eight the other. Lanes that only keep their
  /// warp company have zeros for columns.
  __device__ __forceinline__ void rotate_blocks(int k, int l, int lane, bool company,
                                                Worst& worst) const {
    constexpr int kHalf = kLanes / 2;
    const int upper = lane / kHalf;
    Column<kShare> x[2];
    Column<kShare> y[2];
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      if (company) {
        x[c].clear();
        y[c].clear();
      } else {
        x[c].load(at(2 * k + c), lane);
        y[c].load(at(2 * l + c), lane);
      }
    }
    double xx = squares[2 * k + upper];
    double yy = squares[2 * l + upper];
    bool rotated = false;
#pragma unroll
    for (int step = 0; step < 2; ++step) {
      const double lower_product = x[0].dot(y[step]);
      const double upper_product = x[1].dot(y[1 - step]);
      double product = upper != 0 ? upper_product : lower_product;
      product += __shfl_xor_sync(0xFFFFFFFFU, upper != 0 ? lower_product : upper_product, kHalf);
      const Rotation mine = rotation_of(xx, yy, sum_of_lanes<kHalf>(product), worst);
      const double cosine = __shfl_xor_sync(0xFFFFFFFFU, mine.cosine, kHalf);
      const double sine = __shfl_xor_sync(0xFFFFFFFFU, mine.sine, kHalf);
      if (__any_sync(0xFFFFFFFFU, mine.sine != 0.0)) {
        rotated = true;
        x[0].rotate(y[step], {upper != 0 ? cosine : mine.cosine, upper != 0 ? sine : mine.sine});
        x[1].rotate(y[1 - step],
                    {upper != 0 ? mine.cosine : cosine, upper != 0 ? mine.sine : sine});
      }
      if (step == 0) yy = __shfl_xor_sync(0xFFFFFFFFU, yy, kHalf);
    }
    __syncwarp();  // all lanes have read the squares
    if (!rotated || company) return;
#pragma unroll
    for (int c = 0; c < 2; ++c) {
      x[c].store(at(2 * k + c), lane);
      y[c].store(at(2 * l + c), lane);
    }
    if (lane % kHalf == 0) {
      squares[2 * k + upper] = xx;
      squares[2 * l + 1 - upper] = yy;
    }
  }
};

/// Rotates until all columns are orthogonal. A sweep rotates neighbours, then every block of two
/// columns with every other one: rounds in which each block meets one (the circle method of
/// tournaments), sixteen lanes a meeting. `blocks` is even.
template <int kShare>
__device__ __forceinline__ void make_orthogonal(const Columns<kShare>& columns, int blocks,
                                                unsigned (&largest)[2][2]) {
  const int lane = static_cast<int>(threadIdx.x) % kLanes;
  const int group = static_cast<int>(threadIdx.x) / kLanes;
  const int ring = blocks - 1;
  for (int sweep = 0; sweep < kMostSweeps; ++sweep) {
    Worst worst;
    for (int k = group; k < blocks; k += kGroups) columns.rotate_neighbours(k, lane, worst);
    __syncthreads();
    for (int round = 0; round < ring; ++round) {
      // Both groups of a warp take part, since lanes exchange sums.
      if (group / 2 * 2 < blocks / 2) {
        const int meeting = min(group, blocks / 2 - 1);
        int first = meeting == 0 ? ring : round + meeting;
        if (meeting != 0 && first >= ring) first -= ring;
        int second = round - meeting;
        if (second < 0) second += ring;
        columns.rotate_blocks(first, second, lane, meeting < group, worst);
      }
      __syncthreads();
    }
    // The bits of numbers that are not negative order as they do.
    const unsigned cosine = __reduce_max_sync(0xFFFFFFFFU, __float_as_uint(worst.cosine));
    const unsigned tangent = __reduce_max_sync(0xFFFFFFFFU, __float_as_uint(worst.tangent));
    if (threadIdx.x % 32 == 0) {
      atomicMax(&largest[sweep % 2][0], cosine);
      atomicMax(&largest[sweep % 2][1], tangent);
    }
    if (threadIdx.x < 2) largest[(sweep + 1) % 2][threadIdx.x] = 0;
    __syncthreads();
    const float most = __uint_as_float(largest[sweep % 2][0]);
    if (most < kLastCosine || most * __uint_as_float(largest[sweep % 2][1]) < kLastProduct) return;
  }
}

}  // namespace likewise::cuda::jacobi
