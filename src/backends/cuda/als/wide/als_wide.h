// SPDX-License-Identifier: Apache-2.0
/// The rows of an ALS half-step on wide tables, whose rows' matrices no block can hold
/// (als_rows.h). plan_wide_rows() assigns each row to one of three strategies: matrix-free
/// conjugate gradients, which read the row's factor rows in every step; the same for many rows in
/// lockstep (wide/lockstep.h); or a matrix, summed on tensor cores into memory. Exact rows all have
/// their matrices summed, and factored there; so have those of nonnegative factors.
#pragma once

#include <type_traits>
#include <vector>

#include "backends/cuda/als/rows/als_rows.h"
#include "backends/cuda/als/wide/lockstep.h"
#include "backends/cuda/als/wide/tiles.h"
#include "backends/cuda/device/memory.h"

namespace likewise::cuda {

/// Calls visit with the number of 128-column slices of the kernel for such tables.
template <class Visit>
void for_slices(int padded, Visit visit) {
  if (padded <= 256) {
    visit(std::integral_constant<int, 2>{});
  } else if (padded <= 384) {
    visit(std::integral_constant<int, 3>{});
  } else if (padded <= 512) {
    visit(std::integral_constant<int, 4>{});
  } else if (padded <= 768) {
    visit(std::integral_constant<int, 6>{});
  } else {
    visit(std::integral_constant<int, 8>{});
  }
}

/// How the fixed side's table is stored while rows are solved, and how they are.
struct StoredTable {
  Precision precision = Precision::kFp16;
  Index rows = 0;
  int padded = 0;
  bool exact = false;
  bool nonnegative = false;

  [[nodiscard]] bool sixteen_bits() const {
    return precision == Precision::kFp16 || precision == Precision::kBf16;
  }
  [[nodiscard]] Offset row_bytes() const { return Offset{padded} * (sixteen_bits() ? 2 : 4); }
};

/// Rows whose matrices are in memory at the same time.
struct WideBatch {
  int first_piece = 0;
  int pieces = 0;
  int first_row = 0;
  int rows = 0;
  bool has_pieces = false;  ///< some rows are cut
};

/// What a half-step does with the rows.
struct WidePlan {
  DeviceArray<RowTask> matrix_free;  ///< whole rows, the longest first
  int matrix_free_count = 0;
  DeviceArray<RowTask> pieces;  ///< to sum; slots start again with every batch
  DeviceArray<RowTask> rows;    ///< to solve from their pieces
  std::vector<WideBatch> batches;
  DeviceArray<TileJob> jobs;
  int job_count = 0;
  int slots = 0;  ///< of the largest batch; exact rows have two or more, the second for the factor
  LockstepPlan lockstep;
  Offset floats = 0;   ///< that a problem's piece_sums must have
  Offset doubles = 0;  ///< and its piece_constants
};

/// No plan has more slots.
[[nodiscard]] int most_wide_slots(int padded);

/// Assigns whole rows of these entries to the three strategies, by what each would cost.
[[nodiscard]] WidePlan plan_wide_rows(std::vector<RowTask> rows, const RowEntry* entries,
                                      const StoredTable& fixed, cudaStream_t stream);

void solve_wide_rows(Precision precision, const RowProblem& problem, WidePlan& plan,
                     cudaStream_t stream);

/// The tasks are whole rows, the longest first.
void solve_matrix_free(Precision precision, const RowProblem& problem, const RowTask* tasks,
                       int count, cudaStream_t stream);

/// Sums the matrices of the tasks, whole rows or pieces of rows, each into its slot.
void sum_matrices(Precision precision, const RowProblem& problem, const RowTask* tasks, int count,
                  const TileJob* jobs, int job_count, cudaStream_t stream);

/// Sums the pieces of the rows in the first slot of each.
void add_pieces(const RowProblem& problem, const RowTask* tasks, int count, cudaStream_t stream);

/// Solves rows from what sum_matrices() left in their slots, as the problem says.
void solve_by_matrices(const RowProblem& problem, const RowTask* tasks, int count,
                       cudaStream_t stream);

/// Floats that solve_nonnegative() works in.
[[nodiscard]] Offset nonnegative_floats(int padded);

/// The same for nonnegative factors.
void solve_nonnegative(const RowProblem& problem, const RowTask* tasks, int count, float* space,
                       cudaStream_t stream);

}  // namespace likewise::cuda
