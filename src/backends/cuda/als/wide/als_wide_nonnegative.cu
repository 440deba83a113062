// SPDX-License-Identifier: Apache-2.0
/// Rows of nonnegative factors, where wide/matrices.cuh left their sums in memory: block principal
/// pivoting (core/nonnegative.h says which, and whose) by a block of threads per row. The systems
/// of free unknowns are solved in float64, since no basis makes these matrices well conditioned.
#include <algorithm>

#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/als/tables/double_system.cuh"
#include "backends/cuda/als/wide/als_wide.h"
#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/check.h"
#include "backends/cuda/device/shared_memory.h"
#include "core/nonnegative_rules.h"

namespace likewise::cuda {
namespace {

constexpr int kOwnTiles = 3;       ///< of a thread, in registers
constexpr int kMostBlocks = 2048;  ///< whose matrices are in memory
constexpr int kMostThreads = 384;  ///< of a multiprocessor
constexpr Offset kMostSpaceBytes = Offset{512} << 20;

/// The row's A x = b without bounds, from its sums.
class RowSystem {
 public:
  __device__ RowSystem(const RowProblem& problem, const RowTask& task)
      : problem_(problem),
        slot_(problem.piece_sums + task.slot * slot_floats(problem.padded)),
        right_(slot_ + Offset{tile_number(tile_columns(problem.padded), 0)} * kTileFloats),
        lambda_(problem.regularization[task.row]) {
    const RowBounds bounds(problem, task.row);
    const float inverse_scale = 1.0F / problem.scale;
    scale_ = bounds.w * inverse_scale * inverse_scale;
    right_scale_ = bounds.v * inverse_scale;
    for (int piece = 0; piece < task.slots; ++piece) {
      constant_ += problem.piece_constants[task.slot + piece];
    }
  }

  /// Of the lower triangle.
  [[nodiscard]] __device__ double matrix(int row, int column) const {
    const int lane = row % 8 * 4 + column % 8 / 2;
    const Offset place =
        product_place(row / 16, column / 8) + 4 * lane + row / 8 % 2 * 2 + column % 2;
    double number = double{scale_} * double{slot_[place]};
    if (problem_.gram != nullptr) {
      number += problem_.missing * problem_.gram[Offset{row} * problem_.padded + column];
    }
    return row == column ? number + lambda_ : number;
  }
  [[nodiscard]] __device__ double right(int column) const {
    return double{right_scale_} * double{right_[column]};
  }
  [[nodiscard]] __device__ double constant() const { return constant_; }

 private:
  const RowProblem& problem_;
  const float* slot_;
  const float* right_;
  double lambda_;
  float scale_;
  float right_scale_;
  double constant_ = 0.0;
};

/// What the threads of a block share.
struct Work {
  double* panel;       ///< as DoubleSystem wants it
  double* near;        ///< shared memory for a matrix
  int near_numbers;    ///< of them
  double* far;         ///< memory for any matrix
  std::int16_t* free;  ///< which unknowns are free, rising; the others are 0
  unsigned char* is_free;
  unsigned char* is_wrong;
};
constexpr int kListBytes = 4;  ///< of the three lists, for each unknown

struct Counts {
  int free;
  int wrong;
  int last_wrong;
};

template <int kThreads>
class NonnegativeRow {
 public:
  using System = DoubleSystem<kThreads>;

  __device__ NonnegativeRow(const RowProblem& problem, const RowTask& task, const Work& work,
                            Counts& counts)
      : problem_(problem), row_(problem, task), number_(task.row), work_(work), counts_(counts) {}

  __device__ void run() {
    float* x = problem_.solutions + Offset{number_} * problem_.padded;
    for (int j = thread(); j < problem_.unknowns; j += kThreads) {
      work_.is_free[j] = j >= problem_.bounded || x[j] > 0.0F ? 1 : 0;
    }
    PivotingProgress progress(problem_.unknowns);
    for (int turn = 0; turn < progress.most_turns(); ++turn) {
      __syncthreads();
      list_free();
      __syncthreads();
      const System system = system_of_free();
      const auto number = [&](int r, int c) { return number_at(r, c); };
      if (!system.template solve<kOwnTiles>(0.0, number)) break;
      find_wrong(system);
      if (counts_.wrong == 0) return finish(system, x);
      exchange(progress.exchanges_all(counts_.wrong));
    }
    if (thread() == 0) atomicMin(problem_.failed_row, number_);
    __syncthreads();
  }

 private:
  static __device__ int thread() { return static_cast<int>(threadIdx.x); }

  __device__ void list_free() {
    if (thread() >= 32) return;
    int count = 0;
    for (int first = 0; first < problem_.unknowns; first += 32) {
      const int j = first + thread();
      const bool is_free = j < problem_.unknowns && work_.is_free[j] != 0;
      const unsigned lanes = __ballot_sync(0xffffffffU, is_free);
      const int before = __popc(lanes & ((1U << thread()) - 1U));
      if (is_free) work_.free[count + before] = static_cast<std::int16_t>(j);
      count += __popc(lanes);
    }
    if (thread() == 0) counts_ = {count, 0, -1};
  }

  /// Padded with unknowns that are 0.
  [[nodiscard]] __device__ System system_of_free() const {
    const int columns = columns_of_free();
    double* const room = System::numbers(columns) <= work_.near_numbers ? work_.near : work_.far;
    return System(room, columns, work_.panel);
  }
  [[nodiscard]] __device__ int columns_of_free() const {
    constexpr int kPanel = System::kPanel;
    return (counts_.free + kPanel - 1) / kPanel * kPanel;
  }
  [[nodiscard]] __device__ double number_at(int r, int c) const {
    if (c > r) return 0.0;  // above the diagonal
    const int columns = columns_of_free();
    if (r < counts_.free) return row_.matrix(work_.free[r], work_.free[c]);
    if (r == columns) {
      return c < counts_.free ? row_.right(work_.free[c]) : c == columns ? row_.constant() : 0.0;
    }
    return r == c ? 1.0 : 0.0;
  }

  /// Free unknowns below 0, and others whose gradient A x - b would have them rise.
  __device__ void find_wrong(const System& system) {
    const double* x = system.solution();
    for (int r = thread(); r < counts_.free; r += kThreads) note(work_.free[r], x[r] < 0.0);
    for (int j = thread() / 32; j < problem_.bounded; j += kThreads / 32) {
      if (work_.is_free[j] != 0) continue;
      double gradient = 0.0;
      double size = 0.0;
      for (int r = thread() % 32; r < counts_.free; r += 32) {
        const int i = work_.free[r];
        const double term = row_.matrix(max(i, j), min(i, j)) * x[r];
        gradient += term;
        size += fabs(term);
      }
      gradient = warp_sum(gradient) - row_.right(j);
      size = warp_sum(size) + fabs(row_.right(j));
      if (thread() % 32 == 0) note(j, gradient < -kGradientRounding * size);
    }
    __syncthreads();
  }
  __device__ void note(int j, bool is_wrong) {
    if (j >= problem_.bounded) return;
    work_.is_wrong[j] = is_wrong ? 1 : 0;
    if (!is_wrong) return;
    atomicAdd(&counts_.wrong, 1);
    atomicMax(&counts_.last_wrong, j);
  }

  __device__ void exchange(bool all) {
    for (int j = thread(); j < problem_.bounded; j += kThreads) {
      if (work_.is_wrong[j] != 0 && (all || j == counts_.last_wrong)) work_.is_free[j] ^= 1;
    }
  }

  __device__ void finish(const System& system, float* x) {
    for (int j = thread(); j < problem_.padded; j += kThreads) x[j] = 0.0F;
    __syncthreads();
    for (int r = thread(); r < counts_.free; r += kThreads) {
      x[work_.free[r]] = static_cast<float>(system.solution()[r]);
    }
    if (thread() == 0) {
      problem_.objectives[number_] = system.minimum();
      if (!isfinite(system.minimum())) atomicMin(problem_.failed_row, number_);
    }
    __syncthreads();  // the matrix is the next row's
  }

  const RowProblem& problem_;
  RowSystem row_;
  Index number_;
  const Work& work_;
  Counts& counts_;
};

template <int kThreads>
__global__ void __launch_bounds__(kThreads, kMostThreads / kThreads)
    nonnegative_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks, int count,
                       int near_numbers, double* space) {
  using System = DoubleSystem<kThreads>;
  extern __shared__ __align__(16) double shared[];
  __shared__ Counts counts;
  const int panel = System::panel_bytes(problem.padded) / static_cast<int>(sizeof(double));
  Work work{};
  work.panel = shared;
  work.near = shared + panel;
  work.near_numbers = near_numbers;
  work.far = space + blockIdx.x * System::numbers(problem.padded);
  work.free = reinterpret_cast<std::int16_t*>(work.near + near_numbers);
  work.is_free = reinterpret_cast<unsigned char*>(work.free + problem.padded);
  work.is_wrong = work.is_free + problem.padded;
  for (int i = static_cast<int>(blockIdx.x); i < count; i += static_cast<int>(gridDim.x)) {
    NonnegativeRow<kThreads>(problem, tasks[i], work, counts).run();
  }
}

[[nodiscard]] int blocks_with_space(int padded) {
  const Offset bytes = DoubleSystemShape::numbers(padded) * Offset{sizeof(double)};
  return static_cast<int>(std::clamp<Offset>(kMostSpaceBytes / bytes, 1, kMostBlocks));
}

/// A multiprocessor's shared memory is for kMostThreads: while a few wait for the next pivot,
/// others work. Matrices that are too large for a block's part of it are in memory.
template <int kThreads>
void launch(const RowProblem& problem, const RowTask* tasks, int count, double* space,
            cudaStream_t stream) {
  constexpr int kReserved = 1024;  // of a block, by the system
  const int part = largest_shared_memory() / (kMostThreads / kThreads) - kReserved -
                   static_cast<int>(sizeof(Counts));
  const int others = DoubleSystemShape::panel_bytes(problem.padded) + kListBytes * problem.padded;
  const Offset near = std::clamp<Offset>((part - others) / Offset{sizeof(double)}, 0,
                                         DoubleSystemShape::numbers(problem.padded));
  const int bytes = others + static_cast<int>(near * Offset{sizeof(double)});
  allow_shared_memory(nonnegative_kernel<kThreads>, bytes);
  nonnegative_kernel<kThreads>
      <<<std::min(count, blocks_with_space(problem.padded)), kThreads, bytes, stream>>>(
          problem, tasks, count, static_cast<int>(near), space);
  LIKEWISE_CUDA_CHECK_LAUNCH();
}

}  // namespace

Offset nonnegative_floats(int padded) {
  constexpr Offset kFloats = sizeof(double) / sizeof(float);
  return blocks_with_space(padded) * DoubleSystemShape::numbers(padded) * kFloats;
}

void solve_nonnegative(const RowProblem& problem, const RowTask* tasks, int count, float* space,
                       cudaStream_t stream) {
  if (count == 0) return;
  auto* const matrices = reinterpret_cast<double*>(space);
  // Threads for all tiles of the triangle.
  if (problem.padded <= 64) return launch<64>(problem, tasks, count, matrices, stream);
  launch<256>(problem, tasks, count, matrices, stream);
}

}  // namespace likewise::cuda
