// SPDX-License-Identifier: Apache-2.0
/// Models of ALS that grow, by least squares: half-iterations over the touched rows.
#include <cmath>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/als.h"
#include "algorithms/als/first_factors.h"
#include "algorithms/finite.h"
#include "algorithms/rows_with_entries.h"
#include "algorithms/sgd/sgd.h"
#include "backends/jobs/device_jobs.h"
#include "core/placed_error.h"
#include "likewise/error.h"
#include "training/growth.h"

namespace likewise {
namespace {

/// The touched rows of one side with their whole history, the other side held fixed: the solved
/// rows' entries, their counts and the fixed side's Gram matrix are those of the merged model. Of
/// the other side only rows with entries are there, as in training.
class TouchedSide {
 public:
  /// `present`: of the merged history.
  TouchedSide(Side side, const AlsParams& params, const UpdateTask& task,
              const RowsWithEntries& present)
      : side_(side),
        params_(params),
        task_(task),
        others_(present.of(other(side))),
        matrix_(part_of_history()) {
    const MemoryPlan plan =
        job<AlsJob>(task.device).plan({matrix_.rows, matrix_.cols, matrix_.nnz()}, params);
    if (task.options.on_plan) task.options.on_plan(plan);
  }

  void solve(Factors& factors) const {
    const std::vector<Index>& rows = task_.growth.touched(side_);
    Factors start = side_rows(factors, side_, rows);
    Factors fixed = side_rows(factors, other(side_), others_);
    start.side(other(side_)) = std::move(fixed.side(other(side_)));
    start.bias(other(side_)) = std::move(fixed.bias(other(side_)));
    const auto row_of_part = [&](Side side, Index row) {
      return (side == side_ ? rows : others_)[static_cast<std::size_t>(row)];
    };
    renumbering(row_of_part, [&] {
      const auto solver =
          job<AlsJob>(task_.device).make_solver(matrix_.view(), params_, std::move(start), 1);
      if (!std::isfinite(solver->solve(side_, task_.control))) {
        throw Error(ErrorKind::kNumerical,
                    fmt::format("ALS: the touched {} cannot be solved: train anew with a larger "
                                "regularization, or on smaller values",
                                side_name(side_)));
      }
      put_rows(solver->factors(), side_, rows, factors);
    });
  }

 private:
  [[nodiscard]] CsrMatrix part_of_history() const {
    const CsrView history = task_.growth.history.view();
    const std::vector<Index>& touched = task_.growth.touched(side_);
    if (side_ == Side::kUsers) return columns_of(rows_of(history, touched).view(), others_);
    return rows_of(columns_of(history, touched).view(), others_);
  }

  Side side_;
  const AlsParams& params_;
  const UpdateTask& task_;
  const std::vector<Index>& others_;  ///< of the other side, those with entries
  CsrMatrix matrix_;
};

}  // namespace

Refined update_als(const AlsParams& params, const UpdateTask& task) {
  check_values(task.growth.history.view(), params);
  if (task.options.by == UpdateBy::kSgd) return update_als_by_sgd(params, task);
  Factors factors = placed_factors(task, has_biases(params), has_biases(params));
  const RowsWithEntries present(task.growth.history.view());
  const TouchedSide users(Side::kUsers, params, task, present);
  const TouchedSide items(Side::kItems, params, task, present);
  for (int round = 0; round < task.iterations; ++round) {
    task.control.report("update", round, task.iterations, "rounds");
    users.solve(factors);
    items.solve(factors);
  }
  task.control.report("update", task.iterations, task.iterations, "rounds");
  return {std::move(factors), static_cast<Index>(task.growth.touched_users.size()),
          static_cast<Index>(task.growth.touched_items.size())};
}

}  // namespace likewise
