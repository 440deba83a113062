// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/tables/als_double_rows.h"
#include "backends/cuda/als/tables/double_system.cuh"
#include "backends/cuda/als/wide/stored.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"

namespace likewise::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kChunk = 16;  ///< interactions that are summed at a time
constexpr int kMostSlots = 512;
constexpr Offset kMostBytes = Offset{64} << 20;
using System = DoubleSystem<kThreads>;

/// Of the row's ratings: what is left of a pivot below this is rounding.
constexpr double kSmallestPivot = 1e-12;

[[nodiscard]] int slots_of(int padded) {
  const Offset bytes = System::numbers(padded) * Offset{sizeof(double)};
  return static_cast<int>(std::clamp<Offset>(kMostBytes / bytes, 1, kMostSlots));
}

/// One row, solved by one block: A = sum v v^T + lambda diag(shrink), b = sum r v, c = sum r^2, and
/// the minimum is the row's objective.
template <class Stored>
class DoubleRow {
 public:
  __device__ DoubleRow(const RowProblem& problem, Index row, double* matrix, float* shared)
      : problem_(problem),
        row_(row),
        begin_(problem.offsets[row]),
        count_(problem.offsets[row + 1] - begin_),
        system_(matrix, problem.padded, reinterpret_cast<double*>(shared)),
        side_(System::side(problem.padded)),
        shared_(shared) {}

  __device__ void run() {
    for (Offset first = 0; first < count_; first += kChunk) {
      load(first);
      __syncthreads();
      add_products(first == 0);
      __syncthreads();
    }
    regularize();
    __syncthreads();
    const bool positive = system_.solve(kSmallestPivot * static_cast<double>(count_));
    float* to = problem_.solutions + Offset{row_} * problem_.padded;
    for (int c = thread(); c < problem_.padded; c += kThreads) {
      to[c] = static_cast<float>(system_.solution()[c]);
    }
    if (thread() == 0) {
      problem_.objectives[row_] = system_.minimum();
      if (!positive || !isfinite(system_.minimum())) atomicMin(problem_.failed_row, row_);
    }
    __syncthreads();  // the matrix is the next row's
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  /// Interactions to shared memory: factor rows, and behind each what it is to give.
  __device__ void load(Offset first) {
    const float inverse_scale = 1.0F / problem_.scale;  // a power of two
    const auto* table = static_cast<const typename Stored::Four*>(problem_.table);
    const int fours = side_ / 4;
    for (int job = thread(); job < kChunk * fours; job += kThreads) {
      const int r = job / fours;
      const int part = job % fours;
      float4 four = make_float4(0.0F, 0.0F, 0.0F, 0.0F);
      if (first + r < count_) {
        const RowEntry entry = problem_.entries[begin_ + first + r];
        if (part < problem_.padded / 4) {
          four = Stored::values(table[Offset{entry.column} * (problem_.padded / 4) + part]);
          four.x *= inverse_scale;
          four.y *= inverse_scale;
          four.z *= inverse_scale;
          four.w *= inverse_scale;
        } else {
          const RowWeights& how = problem_.weights;
          const float bias = how.bias == nullptr ? 0.0F : how.bias[entry.column];
          four.x = rating_target(entry.value, how.mean, bias);
        }
      }
      reinterpret_cast<float4*>(shared_)[job] = four;
    }
  }

  __device__ void add_products(bool fresh) {
    constexpr int kTile = System::kTile;
    system_.for_tiles(0, [&](int row, int column) {
      double sums[kTile][kTile] = {};
      for (int k = 0; k < kChunk; ++k) {
#pragma unroll
        for (int i = 0; i < kTile; ++i) {
#pragma unroll
          for (int j = 0; j < kTile; ++j) {
            sums[i][j] = fma(double{shared_[k * side_ + row + i]},
                             double{shared_[k * side_ + column + j]}, sums[i][j]);
          }
        }
      }
#pragma unroll
      for (int i = 0; i < kTile; ++i) {
#pragma unroll
        for (int j = 0; j < kTile; ++j) {
          double& to = system_.at(row + i, column + j);
          to = fresh ? sums[i][j] : to + sums[i][j];
        }
      }
    });
  }

  __device__ void regularize() {
    const double lambda = problem_.regularization[row_];
    for (int c = thread(); c < problem_.padded; c += kThreads) {
      const double shrink = problem_.shrink[c];
      system_.at(c, c) += shrink == 0.0 ? static_cast<double>(count_) : lambda * shrink;
    }
  }

  const RowProblem& problem_;
  Index row_;
  Offset begin_;
  Offset count_;
  System system_;
  int side_;
  float* shared_;
};

template <class Stored>
__global__ void __launch_bounds__(kThreads)
    double_rows_kernel(const __grid_constant__ RowProblem problem, Offset first_entry,
                       Offset end_entry, double* matrices) {
  extern __shared__ __align__(16) float shared[];
  double* matrix = matrices + blockIdx.x * System::numbers(problem.padded);
  const int count = *problem.hard.count;
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    const Index row = problem.hard.rows[i];
    if (problem.offsets[row] < first_entry || problem.offsets[row + 1] > end_entry) {
      if (threadIdx.x == 0) atomicMin(problem.failed_row, row);
      continue;
    }
    DoubleRow<Stored>(problem, row, matrix, shared).run();
  }
}

}  // namespace

DoubleRows::DoubleRows(Index most_rows, int padded)
    : slots_(slots_of(padded)), rows_(most_rows), matrices_(slots_ * System::numbers(padded)) {
  LIKEWISE_CUDA_CHECK(cudaMemset(count_.data(), 0, sizeof(int)));
}

Offset DoubleRows::bytes(Index most_rows, int padded) {
  return slots_of(padded) * System::numbers(padded) * Offset{sizeof(double)} +
         Offset{most_rows} * Offset{sizeof(Index)};
}

void DoubleRows::solve(Precision precision, const RowProblem& problem, const RowPortion& portion,
                       cudaStream_t stream) {
  const int chunk_bytes = System::side(problem.padded) * kChunk * static_cast<int>(sizeof(float));
  const int bytes = std::max(chunk_bytes, System::panel_bytes(problem.padded));
  const auto launch = [&](auto kernel) {
    allow_shared_memory(kernel, bytes);
    kernel<<<slots_, kThreads, bytes, stream>>>(problem, portion.first_entry, portion.end_entry,
                                                matrices_.data());
    LIKEWISE_CUDA_CHECK_LAUNCH();
  };
  if (precision == Precision::kFp16) {
    launch(double_rows_kernel<StoredHalf>);
  } else if (precision == Precision::kBf16) {
    launch(double_rows_kernel<StoredBfloat>);
  } else {
    launch(double_rows_kernel<StoredFloat>);
  }
  LIKEWISE_CUDA_CHECK(cudaMemsetAsync(count_.data(), 0, sizeof(int), stream));
}

}  // namespace likewise::cuda
