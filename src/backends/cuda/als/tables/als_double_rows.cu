// SPDX-License-Identifier: Apache-2.0
#include "backends/cuda/als/tables/als_double_rows.h"
#include "backends/cuda/als/wide/stored.cuh"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"

namespace likewise::cuda {
namespace {

constexpr int kThreads = 256;
constexpr int kBorder = 4;  ///< rows and columns behind the matrix: the right-hand side, and zeros
constexpr int kChunk = 16;  ///< interactions that are summed at a time
constexpr int kPanel = 8;   ///< columns that are eliminated at a time
constexpr int kTile = 4;
constexpr int kMostSlots = 512;
constexpr Offset kMostBytes = Offset{64} << 20;

/// Of the row's ratings: what is left of a pivot below this is rounding.
constexpr double kSmallestPivot = 1e-12;

[[nodiscard]] __host__ __device__ constexpr int side(int padded) { return padded + kBorder; }
[[nodiscard]] __host__ __device__ constexpr Offset slot_doubles(int padded) {
  return Offset{side(padded)} * side(padded);
}
[[nodiscard]] int slots_of(int padded) {
  const Offset bytes = slot_doubles(padded) * Offset{sizeof(double)};
  return static_cast<int>(std::clamp<Offset>(kMostBytes / bytes, 1, kMostSlots));
}

/// One row, solved by one block. The matrix in memory, of which the lower triangle counts, is
///
///     A   b        A = sum v v^T + lambda diag(shrink), b = sum r v
///     b^T c        c = sum r^2
///
/// so that eliminating A leaves L of A = L L^T in its place, y of L y = b in that of b, and in the
/// place of c the objective, c - b^T A^-1 b.
template <class Stored>
class DoubleRow {
 public:
  __device__ DoubleRow(const RowProblem& problem, Index row, double* matrix, float* shared)
      : problem_(problem),
        row_(row),
        begin_(problem.offsets[row]),
        count_(problem.offsets[row + 1] - begin_),
        side_(side(problem.padded)),
        matrix_(matrix),
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
    bool positive = true;
    for (int first = 0; first < problem_.padded; first += kPanel) {
      positive = eliminate(first) && positive;
    }
    const double objective = at(problem_.padded, problem_.padded);
    for (int first = problem_.padded - kPanel; first >= 0; first -= kPanel) solve_back(first);
    float* to = problem_.solutions + Offset{row_} * problem_.padded;
    for (int c = thread(); c < problem_.padded; c += kThreads) {
      to[c] = static_cast<float>(at(problem_.padded, c));
    }
    if (thread() == 0) {
      problem_.objectives[row_] = objective;
      if (!positive || !isfinite(objective)) atomicMin(problem_.failed_row, row_);
    }
    __syncthreads();  // the matrix is the next row's
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }
  __device__ double& at(int row, int column) { return matrix_[Offset{row} * side_ + column]; }

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

  /// Calls visit(row, column) for this thread's tiles of the lower triangle from `first` on.
  template <class Visit>
  __device__ void for_tiles(int first, Visit visit) {
    int row = first / kTile;
    int column = row + thread();
    while (row < side_ / kTile) {
      if (column > row) {
        column -= ++row - first / kTile;
        continue;
      }
      visit(kTile * row, kTile * column);
      column += kThreads;
    }
  }

  /// matrix -= or += sum over k of left[i][k] right[j][k] of a tile.
  template <class Left, class Right>
  __device__ void add_tile(int row, int column, int depth, double sign, bool fresh, Left left,
                           Right right) {
    double sums[kTile][kTile] = {};
    for (int k = 0; k < depth; ++k) {
      double b[kTile];
#pragma unroll
      for (int j = 0; j < kTile; ++j) b[j] = right(column + j, k);
#pragma unroll
      for (int i = 0; i < kTile; ++i) {
        const double a = left(row + i, k);
#pragma unroll
        for (int j = 0; j < kTile; ++j) sums[i][j] = fma(a, b[j], sums[i][j]);
      }
    }
#pragma unroll
    for (int i = 0; i < kTile; ++i) {
#pragma unroll
      for (int j = 0; j < kTile; ++j) {
        double& to = at(row + i, column + j);
        to = fma(sign, sums[i][j], fresh ? 0.0 : to);
      }
    }
  }

  __device__ void add_products(bool fresh) {
    const auto factor = [&](int column, int r) {
      return static_cast<double>(shared_[r * side_ + column]);
    };
    for_tiles(
        0, [&](int row, int column) { add_tile(row, column, kChunk, 1.0, fresh, factor, factor); });
  }

  __device__ void regularize() {
    const double lambda = problem_.regularization[row_];
    for (int c = thread(); c < problem_.padded; c += kThreads) {
      const double shrink = problem_.shrink[c];
      at(c, c) += shrink == 0.0 ? static_cast<double>(count_) : lambda * shrink;
    }
  }

  /// Columns [first, first + kPanel), and what the others lose by them. Returns whether the pivots
  /// were positive.
  __device__ bool eliminate(int first) {
    auto* panel = reinterpret_cast<double*>(shared_);
    const auto in_panel = [&](int row, int c) -> double& { return panel[row * kPanel + c]; };
    for (int job = first * kPanel + thread(); job < side_ * kPanel; job += kThreads) {
      panel[job] = at(job / kPanel, first + job % kPanel);
    }
    __syncthreads();
    bool positive = true;
    for (int c = 0; c < kPanel; ++c) {
      const double pivot = in_panel(first + c, c);
      positive = positive && pivot > kSmallestPivot * static_cast<double>(count_);
      const double factor = 1.0 / sqrt(pivot);
      __syncthreads();
      for (int r = first + c + thread(); r < side_; r += kThreads) in_panel(r, c) *= factor;
      __syncthreads();
      for (int r = first + c + 1 + thread(); r < side_; r += kThreads) {
        for (int d = c + 1; d < kPanel; ++d) {
          in_panel(r, d) -= in_panel(r, c) * in_panel(first + d, c);
        }
      }
      __syncthreads();
    }
    for (int job = first * kPanel + thread(); job < side_ * kPanel; job += kThreads) {
      at(job / kPanel, first + job % kPanel) = panel[job];
    }
    for_tiles(first + kPanel, [&](int row, int column) {
      add_tile(row, column, kPanel, -1.0, false, in_panel, in_panel);
    });
    __syncthreads();
    return positive;
  }

  /// z of L^T z = y in the place of y: columns [first, first + kPanel), when those after are known.
  __device__ void solve_back(int first) {
    auto* parts = reinterpret_cast<double*>(shared_);
    double* y = &at(problem_.padded, 0);
    double sums[kPanel] = {};
    for (int r = first + kPanel + thread(); r < problem_.padded; r += kThreads) {
#pragma unroll
      for (int c = 0; c < kPanel; ++c) sums[c] = fma(at(r, first + c), y[r], sums[c]);
    }
#pragma unroll
    for (int c = 0; c < kPanel; ++c) {
      sums[c] = warp_sum(sums[c]);
      if (thread() % 32 == 0) parts[thread() / 32 * kPanel + c] = sums[c];
    }
    __syncthreads();
    if (thread() == 0) {
      for (int c = kPanel - 1; c >= 0; --c) {
        double z = y[first + c];
        for (int w = 0; w < kThreads / 32; ++w) z -= parts[w * kPanel + c];
        for (int d = c + 1; d < kPanel; ++d) z -= at(first + d, first + c) * y[first + d];
        y[first + c] = z / at(first + c, first + c);
      }
    }
    __syncthreads();
  }

  const RowProblem& problem_;
  Index row_;
  Offset begin_;
  Offset count_;
  int side_;
  double* matrix_;
  float* shared_;
};

template <class Stored>
__global__ void __launch_bounds__(kThreads)
    double_rows_kernel(const __grid_constant__ RowProblem problem, Offset first_entry,
                       Offset end_entry, double* matrices) {
  extern __shared__ __align__(16) float shared[];
  double* matrix = matrices + blockIdx.x * slot_doubles(problem.padded);
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
    : slots_(slots_of(padded)), rows_(most_rows), matrices_(slots_ * slot_doubles(padded)) {
  LIKEWISE_CUDA_CHECK(cudaMemset(count_.data(), 0, sizeof(int)));
}

Offset DoubleRows::bytes(Index most_rows, int padded) {
  return slots_of(padded) * slot_doubles(padded) * Offset{sizeof(double)} +
         Offset{most_rows} * Offset{sizeof(Index)};
}

void DoubleRows::solve(Precision precision, const RowProblem& problem, const RowPortion& portion,
                       cudaStream_t stream) {
  const int bytes = side(problem.padded) * std::max(kChunk * static_cast<int>(sizeof(float)),
                                                    kPanel * static_cast<int>(sizeof(double)));
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
