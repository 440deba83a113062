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
  bounds[at] =
      first_from(entries, row.begin, row.begin + row.count, at % (chunks + 1) * chunk_rows);
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
    const bool part = step >= 0 && batch.kept[which].last;
    if (batch.dense.has(which, step, part)) return;
    const Offset* bounds = batch.bounds + Offset{which} * (batch.chunks + 1) + chunk;
    const auto count = static_cast<int>(bounds[1] - bounds[0]);
    if (count == 0) return;
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

  /// The parts of a row's product, in their order, and at the start of the totals.
  static __device__ __forceinline__ void add_parts(const RowProblem& problem,
                                                   const LockstepBatch& batch, int which, int step,
                                                   const Vectors& on, Lane& product,
                                                   RowTotals<double>& totals) {
    const bool dense = batch.dense.has(which, step, step >= 0 && batch.kept[which].last);
    const int count = dense ? batch.dense.part_count : batch.chunks;
    const Offset first = Offset{dense && step >= 0 ? batch.kept[which].place : which} * count;
    const float* const parts = (dense ? batch.dense.parts : batch.parts) + first * problem.padded;
    const double* const of_totals = (dense ? batch.dense.totals : batch.totals) + 2 * first;
    const Offset* const bounds = batch.bounds + Offset{which} * (batch.chunks + 1);
#pragma unroll
    for (int e = 0; e < Vectors::kOwn; ++e) product[e] = 0.0F;
    for (int part = 0; part < count; ++part) {
      if (!dense && bounds[part] == bounds[part + 1]) continue;
      Lane more;
      on.load(more, parts + Offset{part} * problem.padded);
#pragma unroll
      for (int e = 0; e < Vectors::kOwn; ++e) product[e] += more[e];
      if (step >= 0) continue;
      totals.constant += of_totals[2 * part];
      totals.reached += of_totals[2 * part + 1];
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
    add_parts(problem, batch, which, step, on, product, totals);
    const bool more = take_step(on, problem, step, diagonals, totals, product, now) &&
                      step + 1 < problem.limits.steps && leads_on(now);
    on.store(residual, now.r);
    on.store(direction, now.v);
    finish_row(on, problem, row, totals.constant, now);
    __syncthreads();  // all have read what is kept
    if (threadIdx.x > 0) return;
    kept = {totals.constant, now.won, now.rho, now.enough, now.positive, more, now.last, 0};
    if (!more) return;
    atomicAdd(batch.left, 1);
    if (which >= batch.dense.rows || now.last) return;
    kept.place = atomicAdd(batch.left + 1, 1);
    batch.dense.list[kept.place] = which;
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
