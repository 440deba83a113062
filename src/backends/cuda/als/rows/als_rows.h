// SPDX-License-Identifier: Apache-2.0
/// The rows of an ALS half-step on the GPU: every row's matrix is summed on tensor cores into the
/// registers of one block and solved there; nothing f x f goes to memory. Tables too wide for that
/// are als_wide.h's.
#pragma once

#include <array>
#include <cmath>
#include <cuda_runtime_api.h>
#include <span>
#include <vector>

#include "algorithms/als/cell_weights.h"
#include "core/host_device.h"
#include "likewise/als.h"
#include "likewise/types.h"

namespace likewise::cuda {

/// `count` of a task that adds a row's pieces so far, for others to go on from.
inline constexpr std::int32_t kCarryOn = -1;
/// The slot that it leaves them in.
inline constexpr std::int32_t kCarrySlot = 0;

/// One task of a block: the whole of a short row, a piece of a long one, or the end of a long one.
struct RowTask {
  Index row = 0;
  std::int32_t count = 0;  ///< interactions from `begin` on to sum; 0 at the end of a long row
  Offset begin = 0;
  std::int32_t slot = -1;  ///< piece: where its sums go; end: the row's first piece
  std::int32_t slots = 0;  ///< end: the row's pieces
};

/// An interaction of a row.
struct alignas(8) RowEntry {
  Index column;
  float value;
};

/// How an observed value r becomes the weights of its cell (algorithms/cell_weights.h): the matrix
/// holds a signed size s, w = |s| and v = like_target(slope, w) for s > 0, else 0 (implicit
/// feedback); w = 1 and v = rating_target(r, mean, bias) (explicit).
struct RowWeights {
  bool explicit_feedback = false;
  float slope = 1.0F;  ///< like_slope()
  float mean = 0.0F;
  const float* bias = nullptr;  ///< of the fixed side's rows, or null
  float target_scale = 1.0F;    ///< explicit: a power of two not below any |v|
};

/// When a row's conjugate gradients stop; as on the CPU.
struct RowLimits {
  int steps = 0;
  float decrease = 0.0F;  ///< of the row's objective that another step would win
  float residual = 0.0F;  ///< of the first residual
  bool plain = false;     ///< without the preconditioner
  bool samples = false;   ///< the curvature of a long row's last step is that of a part of it

  /// What a step must win to be taken, of a row whose objective is `constant` at 0 and lower by
  /// `won` now: the closer the fit, the larger the share that the remaining error makes up.
  [[nodiscard]] LIKEWISE_HOST_DEVICE float unseen(float constant, float won) const {
    if (!(constant > 0.0F)) return 0.0F;
    const float share = fminf(fmaxf((constant - won) / constant, 1e-3F), 1.0F);
    return decrease * constant * share * sqrtf(share);
  }
};

/// Rows that a kernel gives up, for others to solve (als_double_rows.h); none where it is empty.
struct RowQueue {
  int* count = nullptr;
  Index* rows = nullptr;
};

struct RowProblem {
  // The fixed side: `scale` times its rows in the basis of the half-step, `padded` columns.
  const void* table = nullptr;
  float scale = 1.0F;
  float row_bound = 1.0F;  ///< no stored row is longer
  int padded = 0;
  const float* base = nullptr;  ///< dense.h, Basis
  const float* shrink = nullptr;
  // The rows to solve.
  const RowEntry* entries = nullptr;
  const float* regularization = nullptr;  ///< lambda of each row
  const float* largest = nullptr;         ///< implicit: a power of two not below any w of the row
  const Offset* offsets = nullptr;
  RowWeights weights;
  RowLimits limits;
  bool warm = false;   ///< `solutions` holds where to start from
  bool exact = false;  ///< Cholesky, without `limits` and `warm`
  // Nonnegative factors, exact and warm: of a row's `unknowns` the first `bounded`, in the basis of
  // the factors themselves.
  int bounded = 0;  ///< else 0
  int unknowns = 0;
  const double* gram = nullptr;  ///< implicit: weighs `missing`
  double missing = 0.0;
  // Out.
  float* solutions = nullptr;    ///< rows x padded
  double* objectives = nullptr;  ///< one per row
  int* failed_row = nullptr;     ///< the smallest row whose matrix was not positive definite
  RowQueue hard;                 ///< exact, explicit: rows that float32 cannot factor
  // Sums of the pieces of long rows.
  float* piece_sums = nullptr;
  double* piece_constants = nullptr;
};

/// Floats that a piece's sums take.
[[nodiscard]] Offset piece_floats(int padded);

/// Columns that tables of `width` unknowns get: a multiple of 16 for which there is a kernel.
[[nodiscard]] int rows_padded(Precision precision, bool exact, int width);

/// Bytes of shared memory that a block takes; 0 where there is no kernel.
[[nodiscard]] int row_bytes(Precision precision, bool exact, int padded);

/// Largest `padded` for which a row's matrix fits the registers of a block.
inline constexpr int kMaxRowsPadded = 256;

/// Interactions for which solve_short_rows() sets shared memory aside; it takes no longer rows.
inline constexpr std::array kShortRowSizes{32, 48, 64, 80, 96, 128, 160, 192};

/// Bytes of shared memory that a block of solve_short_rows() takes for a row of so many
/// interactions; 0 where there is no kernel.
[[nodiscard]] int short_row_bytes(Precision precision, int padded, int interactions);

/// Solves short rows without forming their matrices. The tasks are whole rows, the longest first;
/// counts[k] of them have at least k interactions. Rows of more than `one_warp` get two warps.
/// The first `done` of them are.
void solve_short_rows(const RowProblem& problem, const RowTask* tasks, std::span<const int> counts,
                      int done, int one_warp, cudaStream_t stream);

/// Interactions up to which solve_held_rows() has kernels, ascending; none where it has no kernel.
/// They need has_sm_90a().
[[nodiscard]] std::vector<int> held_row_sizes(Precision precision, int padded);
/// Whether a GPU of this compute capability is one of 9.0 that this build has machine code for.
[[nodiscard]] bool has_sm_90a(int major, int minor);

/// Solves those of the short rows, as above, that have more than `short_rows` interactions, with
/// their factor rows held in registers. Returns how many of the tasks that were.
int solve_held_rows(const RowProblem& problem, const RowTask* tasks, std::span<const int> counts,
                    int short_rows, cudaStream_t stream);

/// Solves, or for pieces sums, all tasks. The table's numbers are stored as `precision` says.
/// Pieces of nonnegative factors are left in their slots as sum_matrices() leaves them
/// (als_wide.h).
void solve_rows(Precision precision, const RowProblem& problem, const RowTask* tasks, int count,
                cudaStream_t stream);

}  // namespace likewise::cuda
