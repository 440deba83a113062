// SPDX-License-Identifier: Apache-2.0
/// ALS on the CPU: half a step is one parallel loop over blocks of rows.
#include <algorithm>
#include <numeric>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include "algorithms/als/weights.h"
#include "backends/als_errors.h"
#include "backends/als_solver.h"
#include "backends/cpu/als/als_fixed_side.h"
#include "backends/cpu/als/als_long_rows.h"
#include "backends/cpu/als/als_row.h"
#include "backends/cpu/jobs.h"
#include "core/parallel.h"
#include "likewise/control.h"

namespace likewise {
namespace {

/// Rows order[first, first + count) that one task solves.
struct RowBlock {
  Index first = 0;
  Index count = 0;
  Offset work = 0;
};

constexpr Index kMaxBlockRows = 128;
constexpr Offset kMaxBlockEntries = 32768;

/// One side's rows, cut into tasks. The cut depends on the matrix alone.
struct HalfStep {
  CsrView matrix;
  std::vector<Index> order;      ///< rows: those solved one by one, then the long ones
  Index long_rows = 0;           ///< how many of the last are solved in lockstep
  std::vector<RowBlock> blocks;  ///< of the others, about equal work, the largest first
};

[[nodiscard]] std::vector<RowBlock> cut_rows(const CsrView& matrix, std::span<const Index> order) {
  std::vector<RowBlock> blocks;
  for (Index at = 0; at < static_cast<Index>(order.size()); ++at) {
    const Offset size = matrix.row_size(order[static_cast<std::size_t>(at)]);
    if (blocks.empty() || blocks.back().count == kMaxBlockRows ||
        blocks.back().work + size > kMaxBlockEntries) {
      blocks.push_back({at, 0, 0});
    }
    ++blocks.back().count;
    blocks.back().work += size;
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const RowBlock& a, const RowBlock& b) { return a.work > b.work; });
  return blocks;
}

[[nodiscard]] HalfStep plan_half_step(const CsrView& matrix, const AlsParams& params, bool exact) {
  HalfStep step{matrix, {}, 0, {}};
  const Index stride = padded_stride(als_width(params));
  std::vector<Index> long_rows;
  for (Index row = 0; row < matrix.rows; ++row) {
    const bool is_long = !exact && is_long_row(matrix.row_size(row), stride);
    (is_long ? long_rows : step.order).push_back(row);
  }
  step.blocks = cut_rows(matrix, step.order);
  step.long_rows = static_cast<Index>(long_rows.size());
  step.order.insert(step.order.end(), long_rows.begin(), long_rows.end());
  return step;
}

/// The error in a row's objective that kAuto allows. The next iteration's warm start reduces it;
/// the first half-steps have no warm start, and all later ones build on them. Over many rows the
/// errors cancel out, over few they do not.
[[nodiscard]] double auto_accuracy(const AlsParams& params, Offset half_steps, Index rows) {
  const double accuracy = params.feedback == Feedback::kImplicit ? 4.5e-5 : 1.3e-5;
  const double first = half_steps <= 2 ? 0.01 : 1.0;
  return accuracy * first * std::min(1.0, rows / 1000.0);
}

class CpuAlsSolver final : public AlsSolver {
 public:
  CpuAlsSolver(const CsrView& by_user, const AlsParams& params, Factors start,
               int completed_iterations)
      : params_(params),
        exact_(solves_exactly(params, {by_user.rows, by_user.cols, by_user.nnz()})),
        width_(als_width(params)),
        by_item_(transpose(by_user)),
        factors_(std::move(start)),
        half_steps_(2 * Offset{completed_iterations}) {
    sides_[0] = plan_half_step(by_user, params, exact_);
    sides_[1] = plan_half_step(by_item_.view(), params, exact_);
  }

  double solve(Side side, const RunControl& control) override {
    const HalfStep& step = sides_[side == Side::kItems];
    const HalfStep& fixed_step = sides_[side == Side::kUsers];
    fixed_side_.prepare(fixed_step.matrix, other(side), factors_, params_);
    ++half_steps_;

    // Groups of long rows come first, then the blocks of short ones, in one loop: no thread waits.
    const Index groups = long_row_groups(step);
    const Index single = static_cast<Index>(step.order.size()) - step.long_rows;
    tbb::enumerable_thread_specific<Worker> workers([&] { return make_worker(side); });
    std::vector<double> objective(step.blocks.size() + static_cast<std::size_t>(step.long_rows));
    const std::span<double> long_objective(objective.data() + step.blocks.size(),
                                           static_cast<std::size_t>(step.long_rows));
    parallel_for(groups + static_cast<Offset>(step.blocks.size()), 1, [&](Offset task) {
      control.check();
      if (task < groups) {
        const Index first = static_cast<Index>(task * step.long_rows / groups);
        const Index end = static_cast<Index>((task + 1) * step.long_rows / groups);
        return solve_long(side, step, single + first,
                          long_objective.subspan(static_cast<std::size_t>(first),
                                                 static_cast<std::size_t>(end - first)),
                          control);
      }
      const auto i = static_cast<std::size_t>(task - groups);
      objective[i] = solve_block(side, step, step.blocks[i], workers.local());
    });
    return std::accumulate(objective.begin(), objective.end(), fixed_side_.regularization());
  }

  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  /// One thread's buffers: a block's rows as they are (x) and in the fixed side's basis (z).
  struct Worker {
    Matrix x;
    Matrix z;
    AlsRowSolver solver;
  };

  [[nodiscard]] AlsRowContext context(Side side) const {
    kernels::Weighing weighing = kernels::Weighing::of(params_);
    weighing.mean = factors_.global_mean;
    weighing.bias = factors_.bias(other(side)).data();
    const Index rows = std::min(factors_.users.rows(), factors_.items.rows());
    return {fixed_side_, params_, weighing, exact_, auto_accuracy(params_, half_steps_, rows)};
  }

  [[nodiscard]] Worker make_worker(Side side) const {
    return {Matrix(kMaxBlockRows, width_), Matrix(kMaxBlockRows, width_),
            AlsRowSolver(context(side))};
  }

  /// Enough groups for all threads, few enough that a group shares what it reads. Does not change
  /// results.
  [[nodiscard]] static Index long_row_groups(const HalfStep& step) {
    const Index most = std::max<Index>(3 * thread_count(), step.long_rows / 64);
    return std::min(step.long_rows, most);
  }

  /// z = x Q for the block's rows.
  void enter_basis(Side side, std::span<const Index> rows, Matrix& x, Matrix& z) const {
    const Matrix& from = factors_.side(side);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      float* to = x.row(static_cast<Index>(r));
      std::copy_n(from.row(rows[r]), params_.factors, to);
      if (width_ > params_.factors) to[params_.factors] = factors_.bias(side)[rows[r]];
    }
    multiply(static_cast<Index>(rows.size()), x.data(), x.stride(),
             fixed_side_.basis().vectors.view(), z.data(), z.stride());
  }

  /// x = z Q^T, stored.
  void leave_basis(Side side, std::span<const Index> rows, const Matrix& z, Matrix& x) {
    multiply(static_cast<Index>(rows.size()), z.data(), z.stride(),
             fixed_side_.basis().transposed.view(), x.data(), x.stride());
    Matrix& to = factors_.side(side);
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const float* from = x.row(static_cast<Index>(r));
      std::copy_n(from, params_.factors, to.row(rows[r]));
      if (width_ > params_.factors) factors_.bias(side)[rows[r]] = from[params_.factors];
    }
  }

  /// Solves a block's rows one by one. Returns their part of the objective.
  double solve_block(Side side, const HalfStep& step, const RowBlock& block, Worker& worker) {
    const std::span<const Index> rows(step.order.data() + block.first,
                                      static_cast<std::size_t>(block.count));
    enter_basis(side, rows, worker.x, worker.z);
    double objective = 0.0;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const Offset count = step.matrix.row_size(rows[r]);
      Index pivot = -1;
      objective +=
          worker.solver.solve(step.matrix.row_columns(rows[r]), step.matrix.row_values(rows[r]),
                              row_regularization(params_, count, step.matrix.cols),
                              worker.z.row(static_cast<Index>(r)), pivot);
      if (pivot >= 0) throw_singular(side, rows[r], count, pivot);
    }
    leave_basis(side, rows, worker.z, worker.x);
    return objective;
  }

  void solve_long(Side side, const HalfStep& step, Index first, std::span<double> objective,
                  const RunControl& control) {
    const std::span<const Index> rows(step.order.data() + first, objective.size());
    Matrix x(static_cast<Index>(rows.size()), width_);
    Matrix z(static_cast<Index>(rows.size()), width_);
    enter_basis(side, rows, x, z);
    const AlsRowContext shared = context(side);
    const Index bad = solve_long_rows(shared, step.matrix, rows, z, objective, control);
    if (bad >= 0) {
      const Index row = rows[static_cast<std::size_t>(bad)];
      throw_singular(side, row, step.matrix.row_size(row), 0);
    }
    leave_basis(side, rows, z, x);
  }

  AlsParams params_;
  bool exact_;
  Index width_;
  CsrMatrix by_item_;
  Factors factors_;
  HalfStep sides_[2];
  AlsFixedSide fixed_side_;
  Offset half_steps_;  ///< begun so far, those before `start` included
};

}  // namespace

std::unique_ptr<AlsSolver> make_cpu_als_solver(const CsrView& by_user, const AlsParams& params,
                                               Factors start, int completed_iterations) {
  return std::make_unique<CpuAlsSolver>(by_user, params, std::move(start), completed_iterations);
}

}  // namespace likewise
