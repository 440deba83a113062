// SPDX-License-Identifier: Apache-2.0
/// The kernels behind wide/lockstep.h.
#pragma once

#include "backends/cuda/als/wide/lockstep.h"
#include "backends/cuda/als/wide/matrix_free.cuh"

namespace likewise::cuda {

/// The entries of a row whose columns are of chunk c: bounds[c] .. bounds[c + 1] - 1, counted from
/// the first of all; chunks + 1 numbers for every row.
__global__ void find_bounds_kernel(const RowEntry* entries, const RowTask* rows, int count,
                                   int chunks, Index chunk_rows, Offset* bounds) {
  const Offset at = Offset{blockIdx.x} * blockDim.x + threadIdx.x;
  if (at >= Offset{count} * (chunks + 1)) return;
  const RowTask& row = rows[at / (chunks + 1)];
  const Offset first = at % (chunks + 1) * chunk_rows;
  Offset low = row.begin;
  Offset high = row.begin + row.count;
  while (low < high) {
    const Offset middle = low + (high - low) / 2;
    if (entries[middle].column < first) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  bounds[at] = low;
}

template <class Stored, int kSlices>
struct Lockstep {
  using Products = WideProducts<Stored, kSlices, kSlices <= 2 ? 8 : kSlices <= 4 ? 4 : 2>;
  using Vectors = typename Products::Vectors;
  using Lane = typename Products::Lane;
  using Total = typename Products::Total;
  static constexpr int kBlocks = kSlices == 3 || kSlices == 4 ? 4 : 3;  ///< on a multiprocessor

  /// One block: a row's interactions in one chunk. Step -1 measures the start.
  static __device__ __forceinline__ void multiply(const RowProblem& problem,
                                                  const LockstepBatch& batch, int step,
                                                  typename Products::Memory& memory) {
    const int which = static_cast<int>(blockIdx.x) % batch.count;
    const int chunk = static_cast<int>(blockIdx.x) / batch.count;
    if (step >= 0 && !batch.kept[which].goes_on) return;
    const Offset* bounds = batch.bounds + Offset{which} * (batch.chunks + 1) + chunk;
    const auto count = static_cast<int>(bounds[1] - bounds[0]);
    if (count == 0) return;
    const bool part = step >= 0 && batch.kept[which].last;
    const auto p = Products::place(problem, bounds[0], count, part);
    const Vectors on{problem.padded, memory.sums};
    Lane v;
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) v[e] = 0.0F;
    if (step >= 0) {
      on.load(v, batch.directions + Offset{which} * problem.padded);
    } else if (problem.warm) {
      on.load(v, problem.solutions + Offset{batch.rows[which].row} * problem.padded);
    }
    const Offset to = Offset{which} * batch.chunks + chunk;
    RowTotals<Total> totals;
    Lane product;
    Products::multiply(problem, p, on, v, step < 0, memory, totals, product);
    on.store(batch.parts + to * problem.padded, product);
    if (step < 0 && threadIdx.x == 0) {
      batch.totals[2 * to] = totals.constant;
      batch.totals[2 * to + 1] = totals.reached;
    }
  }

  /// The chunks' parts of a row's product, in their order, and at the start of the totals.
  static __device__ __forceinline__ void add_parts(const RowProblem& problem,
                                                   const LockstepBatch& batch, int which,
                                                   bool start, const Vectors& on, Lane& product,
                                                   RowTotals<double>& totals) {
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) product[e] = 0.0F;
    const Offset* bounds = batch.bounds + Offset{which} * (batch.chunks + 1);
    for (int chunk = 0; chunk < batch.chunks; ++chunk) {
      if (bounds[chunk] == bounds[chunk + 1]) continue;
      const Offset part = Offset{which} * batch.chunks + chunk;
      Lane more;
      on.load(more, batch.parts + part * problem.padded);
#pragma unroll
      for (int e = 0; e < Vectors::kOwn; ++e) product[e] += more[e];
      if (!start) continue;
      totals.constant += batch.totals[2 * part];
      totals.reached += batch.totals[2 * part + 1];
    }
  }

  /// One block: a row's step.
  static __device__ __forceinline__ void step(const RowProblem& problem, const LockstepBatch& batch,
                                              int step, float* sums) {
    const auto which = static_cast<int>(blockIdx.x);
    LockstepRow& kept = batch.kept[which];
    if (step >= 0 && !kept.goes_on) return;
    const Index row = batch.rows[which].row;
    const Vectors on{problem.padded, sums};
    RowDiagonals<Vectors> diagonals;
    load_diagonals(on, problem, row, diagonals.diagonal, diagonals.inverse);
    float* residual = batch.residuals + Offset{which} * problem.padded;
    float* direction = batch.directions + Offset{which} * problem.padded;
    RowState<Vectors> now;
    now.samples = problem.limits.samples && batch.rows[which].count >= kSampledRow;
    RowTotals<double> totals;
    if (step < 0) {
#pragma unroll
      for (int e = 0; e < Vectors::kOwn; ++e) now.r[e] = 0.0F;
      start_row(on, problem, row, true, diagonals, now);
    } else {
      on.load(now.z, problem.solutions + row * on.columns());
      on.load(now.r, residual);
      on.load(now.v, direction);
      now.rho = kept.rho;
      now.enough = kept.enough;
      now.won = kept.won;
      now.positive = kept.positive;
      now.last = kept.last;
      totals.constant = kept.constant;
    }
    Lane product;
    add_parts(problem, batch, which, step < 0, on, product, totals);
    const bool more = take_step(on, problem, step, diagonals, totals, product, now) &&
                      step + 1 < problem.limits.steps && leads_on(now);
    on.store(residual, now.r);
    on.store(direction, now.v);
    finish_row(on, problem, row, totals.constant, now);
    __syncthreads();  // all have read what is kept
    if (threadIdx.x > 0) return;
    kept = {totals.constant, now.won, now.rho, now.enough, now.positive, more, now.last};
    if (more) atomicAdd(batch.left, 1);
  }
};

/// A block for every chunk of every row, chunk by chunk.
template <class Stored, int kSlices>
__global__ void __launch_bounds__(kProductThreads, Lockstep<Stored, kSlices>::kBlocks)
    lockstep_multiply_kernel(const __grid_constant__ RowProblem problem,
                             const __grid_constant__ LockstepBatch batch, int step) {
  using Kernel = Lockstep<Stored, kSlices>;
  __shared__ __align__(16) typename Kernel::Products::Memory memory;
  Kernel::multiply(problem, batch, step, memory);
}

template <class Stored, int kSlices>
__global__ void __launch_bounds__(kProductThreads)
    lockstep_step_kernel(const __grid_constant__ RowProblem problem,
                         const __grid_constant__ LockstepBatch batch, int step) {
  __shared__ float sums[2 * BlockVectors<kSlices>::kWarps];
  Lockstep<Stored, kSlices>::step(problem, batch, step, sums);
}

}  // namespace likewise::cuda
