// SPDX-License-Identifier: Apache-2.0
/// Rows of wide tables, matrix-free: a step of conjugate gradients reads the row's factor rows
/// once, q = V p and y = V^T (w q) in one pass, in float32 on the plain arithmetic units. A warp
/// brings some interactions straight to its registers, has all columns of them, and needs no other
/// warp before the end of the pass. No matrix is formed. What a pass takes is what reading takes.
#pragma once

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/rows/gradients.cuh"
#include "backends/cuda/als/rows/vectors.cuh"
#include "backends/cuda/als/wide/stored.cuh"
#include "backends/cuda/als/wide/vectors.cuh"
#include "backends/cuda/device/check.h"
#include "backends/jobs/als_solver.h"

namespace likewise::cuda {

inline constexpr int kProductThreads = 128;

/// kAtOnce interactions are in flight to a warp at a time.
template <class Stored, int kSlices, int kAtOnce>
struct WideProducts {
  using Vectors = BlockVectors<kSlices>;
  using Lane = typename Vectors::Lane;
  using Four = typename Stored::Four;  ///< numbers of a slice that a lane reads at once
  using Total = typename Stored::Total;
  static constexpr int kColumns = Vectors::kColumns;
  static constexpr int kWarps = kProductThreads / 32;
  static constexpr int kLanes = 32 / kAtOnce;  ///< that end up with the same q
  /// Slices that every table of this kernel fills.
  static constexpr int kFullSlices = kSlices <= 4 ? kSlices - 1 : kSlices == 6 ? 4 : 6;

  struct Memory {
    float vector[kColumns];
    float parts[kWarps * kColumns];
    float sums[2 * Vectors::kWarps];
    Total totals[2 * kWarps];
  };

  /// A warp's interactions, every stride-th from `begin` on, and what it reads of their factor
  /// rows.
  struct Place {
    const unsigned char* table;  ///< this lane's first number of row 0
    std::uint32_t pitch;         ///< bytes of a row
    /// Bytes to the lane's numbers in the slices that not every table fills; 0 beyond the table.
    std::uint32_t slice_at[kSlices - kFullSlices];
    int lane;
    Offset begin;
    int count;
    int stride;
    float share;  ///< of all interactions for one of these
  };

  /// With `part` one interaction in kSampleStep stands for all.
  static __device__ __forceinline__ Place place(const RowProblem& problem, Offset begin, int all,
                                                bool part) {
    Place p;
    p.stride = part ? static_cast<int>(kSampleStep) : 1;
    const int count = (all + p.stride - 1) / p.stride;
    p.share = part ? __fdividef(static_cast<float>(all), static_cast<float>(count)) : 1.0F;
    const int warp = static_cast<int>(threadIdx.x) / 32;
    p.lane = static_cast<int>(threadIdx.x) % 32;
    p.table = static_cast<const unsigned char*>(problem.table) + p.lane * sizeof(Four);
    p.pitch = static_cast<std::uint32_t>(problem.padded) * Stored::kBytes;
#pragma unroll
    for (int s = kFullSlices; s < kSlices; ++s) {
      const bool there = s * kSliceColumns + 4 * p.lane < problem.padded;
      p.slice_at[s - kFullSlices] = there ? s * 32 * sizeof(Four) : 0;
    }
    // A compiler that has few registers left would make these again for every interaction.
    asm volatile("" : "+l"(p.table), "+r"(p.pitch));
#pragma unroll
    for (std::uint32_t& at : p.slice_at) asm volatile("" : "+r"(at));
    const int each = (count + kWarps * kAtOnce - 1) / (kWarps * kAtOnce) * kAtOnce;
    const int first = min(count, warp * each);
    p.begin = begin + Offset{first} * p.stride;
    p.count = min(each, count - first);
    return p;
  }

  /// An interaction: its column, w over the table's scale, and v.
  struct Entry {
    Index column = 0;
    float w = 0.0F;
    float v = 0.0F;
  };

  /// Of what the matrix holds; v only at the start.
  static __device__ __forceinline__ Entry weigh(const RowProblem& problem, const int2& stored,
                                                bool start, Total& constant) {
    const RowWeights& how = problem.weights;
    const float inverse_scale = 1.0F / problem.scale;
    const float value = __int_as_float(stored.y);
    Entry entry{stored.x, inverse_scale, 0.0F};
    if (!how.explicit_feedback) entry.w = fabsf(value) * inverse_scale;
    if (!start) return entry;
    if (how.explicit_feedback) {
      entry.v = rating_target(value, how.mean,
                              how.bias == nullptr ? 0.0F : __ldg(how.bias + entry.column));
      constant += static_cast<Total>(entry.v) * entry.v;
    } else if (value > 0.0F) {
      entry.v = like_target(how.slope, value);
      constant += entry.v;
    }
    return entry;
  }

  /// The sums of q[] over the lanes: of q[lane / kLanes] in each.
  static __device__ __forceinline__ float sum_lanes(float (&q)[kAtOnce], int lane) {
#pragma unroll
    for (int count = kAtOnce / 2, bit = 16; count > 0; count /= 2, bit /= 2) {
      const bool upper = (lane & bit) != 0;
#pragma unroll
      for (int i = 0; i < count; ++i) {
        const float keep = upper ? q[i + count] : q[i];
        const float send = upper ? q[i] : q[i + count];
        q[i] = keep + __shfl_xor_sync(0xffffffffU, send, bit);
      }
    }
#pragma unroll
    for (int bit = kLanes / 2; bit > 0; bit /= 2) {
      q[0] += __shfl_xor_sync(0xffffffffU, q[0], bit);
    }
    return q[0];
  }

  /// What a lane has read of kAtOnce factor rows.
  using Rows = Four[kAtOnce][kSlices];

  /// Factor rows of the interactions from `at` on, of a column in every lane.
  static __device__ __forceinline__ void load(const Place& p, Index columns, int at, Rows& rows) {
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const Index column = __shfl_sync(0xffffffffU, columns, at + i);
      const unsigned char* row =
          p.table + std::uint64_t{static_cast<std::uint32_t>(column)} * p.pitch;
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        const std::uint32_t slice =
            s < kFullSlices ? s * 32 * sizeof(Four) : p.slice_at[s - kFullSlices];
        rows[i][s] = __ldg(reinterpret_cast<const Four*>(row + slice));
      }
    }
  }

  /// A lane's numbers of a vector of all columns.
  using Slices = float[kSlices][4];

  /// y += V^T (w V x - v) over a few interactions, entries at + ...
  static __device__ __forceinline__ void add(const Place& p, const Rows& rows, const Entry& entries,
                                             int at, const Slices& x, Slices& y, Total& reached) {
    float q[kAtOnce];
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      q[i] = 0.0F;
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        const float4 row = Stored::values(rows[i][s]);
        q[i] = fmaf(row.x, x[s][0], q[i]);
        q[i] = fmaf(row.y, x[s][1], q[i]);
        q[i] = fmaf(row.z, x[s][2], q[i]);
        q[i] = fmaf(row.w, x[s][3], q[i]);
      }
    }
    const int own = at + p.lane / kLanes;
    float u = sum_lanes(q, p.lane);
    const float w = __shfl_sync(0xffffffffU, entries.w, own);
    const float v = __shfl_sync(0xffffffffU, entries.v, own);
    reached += static_cast<Total>(v) * u;
    u = fmaf(w, u, -v);
#pragma unroll
    for (int i = 0; i < kAtOnce; ++i) {
      const float weight = __shfl_sync(0xffffffffU, u, i * kLanes);
#pragma unroll
      for (int s = 0; s < kSlices; ++s) {
        const float4 row = Stored::values(rows[i][s]);
        y[s][0] = fmaf(row.x, weight, y[s][0]);
        y[s][1] = fmaf(row.y, weight, y[s][1]);
        y[s][2] = fmaf(row.z, weight, y[s][2]);
        y[s][3] = fmaf(row.w, weight, y[s][3]);
      }
    }
  }

  /// y += V^T (w V x), or with `start` V^T (w V x - v), over this warp's interactions; both times
  /// the table's scale. Sets what the lane has of the totals.
  static __device__ __forceinline__ void pass(const RowProblem& problem, const Place& p, bool start,
                                              const Slices& x, Slices& y,
                                              RowTotals<Total>& totals) {
    const RowEntry* entries = problem.entries + p.begin + p.lane * p.stride;
    const auto read = [&](int at) {
      return p.lane + at < p.count ? __ldg(reinterpret_cast<const int2*>(entries + at * p.stride))
                                   : make_int2(0, 0);
    };
    int2 coming = read(0);
    for (int first = 0; first < p.count; first += 32) {
      Entry mine;
      if (first + p.lane < p.count) mine = weigh(problem, coming, start, totals.constant);
      coming = read(first + 32);
      const int here = min(32, p.count - first);
      for (int at = 0; at < here; at += kAtOnce) {
        Rows rows;
        load(p, mine.column, at, rows);
        add(p, rows, mine, at, x, y, totals.reached);
      }
    }
  }

  /// product = V^T (w V v), or with `start` V^T (w V v - v), over the interactions of all warps,
  /// whose totals are then set.
  static __device__ __forceinline__ void multiply(const RowProblem& problem, const Place& p,
                                                  const Vectors& on, const Lane& v, bool start,
                                                  Memory& memory, RowTotals<Total>& totals,
                                                  Lane& product) {
    const int warp = static_cast<int>(threadIdx.x) / 32;
    const float inverse_scale = 1.0F / problem.scale;
    on.share(memory.vector, v);
    __syncthreads();
    Slices x;
    Slices y = {};
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      const float4 four =
          *reinterpret_cast<const float4*>(memory.vector + s * kSliceColumns + 4 * p.lane);
      x[s][0] = four.x;
      x[s][1] = four.y;
      x[s][2] = four.z;
      x[s][3] = four.w;
    }
    RowTotals<Total> mine;
    pass(problem, p, start, x, y, mine);
#pragma unroll
    for (int s = 0; s < kSlices; ++s) {
      *reinterpret_cast<float4*>(memory.parts + warp * kColumns + s * kSliceColumns + 4 * p.lane) =
          make_float4(y[s][0], y[s][1], y[s][2], y[s][3]);
    }
    if (start) {
      const Total constant = warp_sum(mine.constant);
      const Total reached = warp_sum(p.lane % kLanes == 0 ? mine.reached : Total{0});
      if (p.lane == 0) {
        memory.totals[warp] = constant;
        memory.totals[kWarps + warp] = reached;
      }
    }
    __syncthreads();
    on.add_up(memory.parts, kWarps, product);
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) product[e] *= inverse_scale * p.share;
    if (start) {
#pragma unroll
      for (int i = 0; i < kWarps; ++i) {
        totals.constant += memory.totals[i];
        totals.reached += memory.totals[kWarps + i] * inverse_scale;
      }
    }
  }

  static __device__ __forceinline__ void run(const RowProblem& problem, const RowTask& task,
                                             Memory& memory) {
    const Vectors on{problem.padded, memory.sums};
    RowTotals<Total> totals;
    Lane right;
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) right[e] = 0.0F;
    solve_row(
        on, problem, task.row, true, right, totals,
        [&](const Lane& v, int step, Lane& product, bool part) {
          const Place p = place(problem, task.begin, task.count, part);
          multiply(problem, p, on, v, step < 0, memory, totals, product);
        },
        problem.limits.samples && task.count >= kSampledRow);
  }
};

/// Blocks on a multiprocessor.
template <int kSlices>
inline constexpr int kProductBlocks = kSlices <= 2   ? 5
                                      : kSlices <= 4 ? 4
                                                     : 3;

template <class Stored, int kSlices>
__global__ void __launch_bounds__(kProductThreads, kProductBlocks<kSlices>)
    wide_product_kernel(const __grid_constant__ RowProblem problem, const RowTask* tasks) {
  using Kernel = WideProducts<Stored, kSlices, kSlices <= 4 ? 4 : 2>;
  __shared__ __align__(16) typename Kernel::Memory memory;
  Kernel::run(problem, tasks[blockIdx.x], memory);
}

}  // namespace likewise::cuda
