// SPDX-License-Identifier: Apache-2.0
/// ALS on the CPU, all rows in one place.
#include <utility>

#include "backends/cpu/als/als_fixed_side.h"
#include "backends/cpu/als/als_half_step.h"
#include "backends/cpu/jobs.h"

namespace likewise {
namespace {

class CpuAlsSolver final : public AlsSolver {
 public:
  CpuAlsSolver(const CsrView& by_user, const AlsParams& params, Factors start,
               int completed_iterations)
      : rules_(params, {by_user.rows, by_user.cols, by_user.nnz()}),
        by_item_(transpose(by_user)),
        factors_(with_changes(std::move(start), rules_.moves_starts)),
        half_steps_(2 * Offset{completed_iterations}) {
    sides_[0] = AlsHalfStep(by_user, Side::kUsers, 0, rules_);
    sides_[1] = AlsHalfStep(by_item_.view(), Side::kItems, 0, rules_);
  }

  double solve(Side side, const RunControl& control) override {
    const Side fixed = other(side);
    const CsrView& matrix = sides_[fixed == Side::kItems].matrix();
    AlsFixedSums sums = fixed_side_.take(
        {matrix, factors_.side(fixed), factors_.bias(fixed).span(), rules_.shape.interactions},
        rules_.params);
    fixed_side_.rotate(fixed_basis(std::move(sums.gram), rules_.params));
    ++half_steps_;
    const AlsSolvedRows rows = solved_rows(factors_, side, rules_, half_steps_);
    const AlsRowContext context = rules_.context(
        fixed, fixed_side_.rows(), fixed_side_.scale(), fixed_side_.basis(),
        factors_.bias(fixed).data(), factors_.global_mean, half_steps_, rows.are_moved());
    const AlsSums solved =
        sides_[side == Side::kItems].solve(context, rows, sums.regularization, control);
    if (rows.changes != nullptr) rows.changes->ratio = solved.changes.ratio();
    return solved.objective;
  }

  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  AlsRules rules_;
  CsrMatrix by_item_;
  Factors factors_;
  AlsHalfStep sides_[2];
  AlsFixedSide fixed_side_;
  Offset half_steps_;  ///< begun so far, those before `start` included
};

}  // namespace

std::unique_ptr<AlsSolver> make_cpu_als_solver(const CsrView& by_user, const AlsParams& params,
                                               Factors start, int completed_iterations) {
  return std::make_unique<CpuAlsSolver>(by_user, params, std::move(start), completed_iterations);
}

}  // namespace likewise
