// SPDX-License-Identifier: Apache-2.0
/// Eigenvectors by one-sided Jacobi rotations (jacobi.h).
///
/// G / max g_ii + shift I = L L^T, and rotations of the columns of M = L from the right make them
/// orthogonal: M V = U diag(m). Then G has the eigenvectors U and the eigenvalues m^2 - shift. The
/// shift keeps small columns, and with them the directions of eigenvalue 0, exact. Only M is in
/// motion, and V is never needed. Every call starts afresh: the eigenvectors of the half-step
/// before would save half of the rotations, but a training that goes on from a checkpoint does not
/// have them, and would differ from one without a break.
///
/// After Hestenes (1958); Veselic and Hari, "A note on a one-sided Jacobi algorithm", Numer. Math.
/// 56 (1989).
#include <cfloat>

#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/shared_memory.h"
#include "backends/cuda/linalg/cholesky.h"
#include "backends/cuda/linalg/jacobi.h"
#include "backends/cuda/linalg/jacobi_columns.cuh"

namespace likewise::cuda {
namespace {

using jacobi::Column;
using jacobi::Columns;
using jacobi::kGroups;
using jacobi::kLanes;
using jacobi::kMaxWidth;
using jacobi::kThreads;
using jacobi::sum_of_lanes;

/// Above what rounding leaves of a float32 Gram matrix's zero eigenvalues, so that it can be
/// factored; it costs no accuracy in float64.
constexpr double kShift = 1e-6;

__device__ bool is_wanted(const int* wanted) { return wanted == nullptr || *wanted != 0; }

/// One block: matrix = weight * gram / largest + shift I, identity in the padding.
__global__ void __launch_bounds__(1024)
    scale_matrix(const double* __restrict__ gram, int width, int padded, double weight,
                 double* __restrict__ matrix, double* __restrict__ largest, int* status,
                 const int* wanted) {
  if (!is_wanted(wanted)) return;
  __shared__ double diagonal[kMaxWidth];
  __shared__ int broken;
  const int thread = static_cast<int>(threadIdx.x);
  if (thread == 0) broken = 0;
  if (thread < width) diagonal[thread] = weight * gram[thread * padded + thread];
  __syncthreads();
  double most = 0.0;
  for (int i = 0; i < width; ++i) most = fmax(most, diagonal[i]);
  // Products of float32 numbers: so small, all of it is rounding.
  const double inverse = most > FLT_MIN / FLT_EPSILON ? 1.0 / most : 0.0;
  for (int at = thread; at < padded * padded; at += static_cast<int>(blockDim.x)) {
    const int i = at / padded;
    const int j = at % padded;
    const bool inside = i < width && j < width;
    const double x = inside ? weight * gram[at] * inverse : 0.0;
    if (!isfinite(x)) broken = 1;
    matrix[at] = x + (i == j ? (inside ? kShift : 1.0) : 0.0);
  }
  __syncthreads();
  if (thread == 0) {
    *largest = most;
    if (broken != 0) *status = -1;
  }
}

/// Columns in shared memory: blocks of two, and an even number of those.
__host__ __device__ constexpr int blocks_of(int width) { return (width + 3) / 4 * 2; }

/// One block. `rows`: the columns of M, one after the other.
template <int kShare>
__global__ void __launch_bounds__(kThreads)
    find_eigenvectors(const double* __restrict__ rows, int width, const double* largest,
                      double lambda, const int* status, const int* wanted,
                      JacobiSolver::Results results) {
  extern __shared__ double shared[];
  __shared__ double squares[kMaxWidth];
  __shared__ unsigned worst[2][2];
  constexpr int kPadded = kShare * kLanes;
  const int thread = static_cast<int>(threadIdx.x);
  if (*status != 0 || !is_wanted(wanted)) return;
  if (thread < 4) worst[thread / 2][thread % 2] = 0;
  for (int i = thread; i < 2 * blocks_of(width) * kPadded; i += kThreads) {
    shared[i] = i < width * kPadded ? rows[i] : 0.0;
  }
  __syncthreads();
  const Columns<kShare> columns{shared, squares};
  jacobi::make_orthogonal(columns, blocks_of(width), worst);

  const int lane = thread % kLanes;
  const int group = thread / kLanes;
  for (int j = group; j < kPadded; j += kGroups) {
    Column<kShare> column;
    column.load(columns.at(min(j, width - 1)), lane);
    const double square = sum_of_lanes<kLanes>(column.dot(column));
    if (lane == 0) squares[j] = square;
  }
  __syncthreads();

  const auto eigenvalue = [&](int j) { return fmax((squares[j] - kShift) * *largest, 0.0); };
  double most = 0.0;
  for (int j = 0; j < width; ++j) most = fmax(most, eigenvalue(j) + lambda);
  for (int j = group; j < kPadded; j += kGroups) {
    const bool inside = j < width;
    const double s = inside ? eigenvalue(j) : 1.0;
    const double d =
        inside ? fmax(s + lambda, fmax(kLeastShare * most, static_cast<double>(FLT_MIN))) : 1.0;
    if (lane == 0) {
      results.base[j] = static_cast<float>(s / d);
      results.shrink[j] = inside ? static_cast<float>(1.0 / d) : 0.0F;
    }
    const double unit = inside ? rsqrt(squares[j]) : 1.0;
    const double root = rsqrt(d);
    const double* column = columns.at(min(j, width - 1));
    for (int k = lane; k < kPadded; k += kLanes) {
      const double q = inside ? column[k] * unit : (j == k ? 1.0 : 0.0);
      results.back[j * kPadded + k] = static_cast<float>(q * root);
      results.transform[k * kPadded + j] = static_cast<float>(q * root);
    }
  }
}

template <int kShare>
void launch(const double* rows, int width, const double* largest, double lambda, const int* status,
            const int* wanted, const JacobiSolver::Results& results, cudaStream_t stream) {
  const auto kernel = find_eigenvectors<kShare>;
  const int bytes = 2 * blocks_of(width) * kShare * kLanes * static_cast<int>(sizeof(double));
  allow_shared_memory(kernel, bytes);
  kernel<<<1, kThreads, bytes, stream>>>(rows, width, largest, lambda, status, wanted, results);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace

bool JacobiSolver::fits(int padded) {
  constexpr int kStatic = 2048;
  return padded <= kMaxWidth &&
         padded * padded * static_cast<int>(sizeof(double)) + kStatic <= largest_shared_memory();
}

JacobiSolver::JacobiSolver(int width, int padded)
    : width_(width), padded_(padded), matrix_(Offset{padded} * padded), largest_(1) {}

void JacobiSolver::run(const double* gram, double weight, double lambda, const Results& results,
                       int* status, const int* wanted, cudaStream_t stream) {
  scale_matrix<<<1, 1024, 0, stream>>>(gram, width_, padded_, weight, matrix_.data(),
                                       largest_.data(), status, wanted);
  LIKEWISE_CUDA_CHECK_LAUNCH();
  factor_cholesky(matrix_.data(), padded_, kShift / 4, status, wanted, stream);
  const auto solve = [&](auto kernel_launch) {
    kernel_launch(matrix_.data(), width_, largest_.data(), lambda, status, wanted, results, stream);
  };
  switch (padded_ / 16) {
    case 1:
      solve(launch<1>);
      break;
    case 2:
      solve(launch<2>);
      break;
    case 3:
      solve(launch<3>);
      break;
    case 4:
      solve(launch<4>);
      break;
    case 5:
      solve(launch<5>);
      break;
    case 6:
      solve(launch<6>);
      break;
    case 7:
      solve(launch<7>);
      break;
    default:
      solve(launch<8>);
      break;
  }
}

}  // namespace likewise::cuda
