// SPDX-License-Identifier: Apache-2.0
/// Half a step of ALS on the CPU: one parallel loop over blocks of rows, all rows of a side or
/// those of one rank.
#pragma once

#include <span>
#include <vector>

#include "backends/cpu/als/als_row.h"
#include "backends/jobs/als_changes.h"
#include "likewise/als.h"
#include "likewise/control.h"
#include "likewise/csr.h"
#include "likewise/factors.h"
#include "likewise/matrix.h"

namespace likewise {

/// What all half-steps of a training have in common, whoever holds the rows.
struct AlsRules {
  AlsParams params;  ///< with a precision that is not kAuto
  AlsShape shape;    ///< of the whole matrix
  bool exact = false;
  bool moves_starts = false;

  AlsRules(const AlsParams& params, const AlsShape& shape);
  [[nodiscard]] Index rows(Side side) const {
    return side == Side::kUsers ? shape.users : shape.items;
  }
  /// `table` and `bias` have the rows of `fixed` that columns number; this is the training's
  /// `half_step`th, from 1, with starts that are `moved` or not. All but the copies of numbers must
  /// outlive the context.
  [[nodiscard]] AlsRowContext context(Side fixed, const kernels::StoredRows& table, float scale,
                                      const AlsBasis& basis, const float* bias, float mean,
                                      Offset half_step, bool moved) const;
};

/// Rows being solved: what they start from in, solutions out.
struct AlsSolvedRows {
  Matrix& factors;
  std::span<float> bias;          ///< empty without biases
  RowChanges* changes = nullptr;  ///< null where they do not count, and starts do not move

  [[nodiscard]] bool are_moved() const { return changes != nullptr && changes->ratio > 0.0F; }
};

/// Those of a half-step of this number, from 1.
[[nodiscard]] AlsSolvedRows solved_rows(Factors& factors, Side side, const AlsRules& rules,
                                        Offset half_step);

/// What a half-step adds up over its rows.
struct AlsSums {
  double objective = 0.0;
  ChangeSums changes{};
};

/// z = x Q for the starts of these rows, with the starts themselves in x.
void enter_basis(const AlsRowContext& context, const AlsSolvedRows& from,
                 std::span<const Index> rows, Matrix& x, Matrix& z);
/// x = z Q^T, stored with its changes. Leaves z changed. `sums` gets those of each row.
void leave_basis(const AlsRowContext& context, Matrix& z, std::span<const Index> rows, Matrix& x,
                 const AlsSolvedRows& to, std::span<ChangeSums> sums);

/// Rows order[first, first + count) that one task solves.
struct AlsRowBlock {
  Index first = 0;
  Index count = 0;
  Offset work = 0;
};

/// Rows of one side, cut into tasks. The cut depends on the matrix alone.
class AlsHalfStep {
 public:
  AlsHalfStep() = default;
  /// `matrix` has the rows, of which the first is `first_row` of the side, and must outlive this.
  AlsHalfStep(const CsrView& matrix, Side side, Index first_row, const AlsRules& rules);

  [[nodiscard]] const CsrView& matrix() const { return matrix_; }
  /// Solves all rows. Returns `objective` and what they add to it. Throws as AlsSolver::solve().
  [[nodiscard]] AlsSums solve(const AlsRowContext& context, const AlsSolvedRows& rows,
                              double objective, const RunControl& control) const;

 private:
  struct Worker;
  [[nodiscard]] AlsSums solve_block(const AlsRowContext& context, const AlsSolvedRows& rows,
                                    const AlsRowBlock& block, Worker& worker) const;
  /// `sums` gets those of each row.
  void solve_long(const AlsRowContext& context, const AlsSolvedRows& rows, Index first,
                  std::span<AlsSums> sums, const RunControl& control) const;
  [[nodiscard]] std::vector<Index> long_row_groups() const;
  [[nodiscard]] std::span<const Index> ordered(Index first, Index count) const;

  CsrView matrix_;
  Side side_ = Side::kUsers;
  Index first_row_ = 0;
  std::vector<Index> order_;         ///< rows: those solved one by one, then the long ones
  Index long_rows_ = 0;              ///< how many of the last are solved in lockstep, longest first
  std::vector<AlsRowBlock> blocks_;  ///< of the others, about equal work, the largest first
};

}  // namespace likewise
