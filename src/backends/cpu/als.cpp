// SPDX-License-Identifier: Apache-2.0
/// ALS on the CPU: half a step is one parallel loop over blocks of rows.
#include <algorithm>
#include <numeric>
#include <vector>

#include <tbb/enumerable_thread_specific.h>

#include "algorithms/weights.h"
#include "backends/als_errors.h"
#include "backends/cpu/als_fixed_side.h"
#include "backends/cpu/als_row.h"
#include "backends/cpu/jobs.h"
#include "core/parallel.h"

namespace likewise {
namespace {

/// Rows [first, first + count) that one task solves.
struct RowBlock {
  Index first = 0;
  Index count = 0;
  Offset work = 0;
};

constexpr Index kMaxBlockRows = 128;
constexpr Offset kMaxBlockEntries = 32768;

/// Cuts the rows into blocks of about equal work, the largest first so that none is left for the
/// end. The cut depends on the matrix alone.
[[nodiscard]] std::vector<RowBlock> cut_rows(const CsrView& matrix) {
  std::vector<RowBlock> blocks;
  for (Index row = 0; row < matrix.rows; ++row) {
    const Offset size = matrix.row_size(row);
    if (blocks.empty() || blocks.back().count == kMaxBlockRows ||
        blocks.back().work + size > kMaxBlockEntries) {
      blocks.push_back({row, 0, 0});
    }
    ++blocks.back().count;
    blocks.back().work += size;
  }
  std::stable_sort(blocks.begin(), blocks.end(),
                   [](const RowBlock& a, const RowBlock& b) { return a.work > b.work; });
  return blocks;
}

class CpuAlsSolver final : public AlsSolver {
 public:
  CpuAlsSolver(const CsrView& by_user, const AlsParams& params, const Factors& start)
      : params_(params),
        width_(als_width(params)),
        by_item_(transpose(by_user)),
        factors_(start.clone()) {
    sides_[0] = {by_user, cut_rows(by_user)};
    sides_[1] = {by_item_.view(), cut_rows(by_item_.view())};
  }

  double solve(Side side, const RunControl& control) override {
    HalfStep& step = sides_[side == Side::kItems];
    const HalfStep& fixed_step = sides_[side == Side::kUsers];
    if (step.matrix.rows == 0 || step.matrix.cols == 0) return 0.0;
    fixed_side_.prepare(fixed_step.matrix, other(side), factors_, params_);

    tbb::enumerable_thread_specific<Worker> workers([&] { return make_worker(side); });
    std::vector<double> objective(step.blocks.size());
    parallel_for(static_cast<Offset>(step.blocks.size()), 1, [&](Offset b) {
      control.check();
      const auto i = static_cast<std::size_t>(b);
      objective[i] = solve_block(side, step.matrix, step.blocks[i], workers.local());
    });
    return std::accumulate(objective.begin(), objective.end(), fixed_side_.regularization());
  }

  const Factors& factors() override { return factors_; }

 private:
  struct HalfStep {
    CsrView matrix;
    std::vector<RowBlock> blocks;
  };
  /// One thread's buffers: a block's rows as they are (x) and in the fixed side's basis (z).
  struct Worker {
    Matrix x;
    Matrix z;
    AlsRowSolver solver;
  };

  [[nodiscard]] Worker make_worker(Side side) const {
    kernels::Weighing weighing = kernels::Weighing::of(params_);
    weighing.mean = factors_.global_mean;
    weighing.bias = factors_.bias(other(side)).data();
    return {Matrix(kMaxBlockRows, width_), Matrix(kMaxBlockRows, width_),
            AlsRowSolver({fixed_side_, params_, weighing})};
  }

  /// z = x Q, solve every row, x = z Q^T. Returns the rows' part of the objective.
  double solve_block(Side side, const CsrView& matrix, const RowBlock& block, Worker& worker) {
    const Eigenbasis& basis = fixed_side_.basis();
    load_rows(side, block, worker.x);
    multiply(block.count, worker.x.data(), worker.x.stride(), basis.vectors.view(), worker.z.data(),
             worker.z.stride());
    double objective = 0.0;
    for (Index r = 0; r < block.count; ++r) {
      const Index row = block.first + r;
      const Offset count = matrix.row_size(row);
      Index pivot = -1;
      objective += worker.solver.solve(matrix.row_columns(row), matrix.row_values(row),
                                       row_regularization(params_, count, matrix.cols),
                                       worker.z.row(r), pivot);
      if (pivot >= 0) throw_singular(side, row, count, pivot);
    }
    multiply(block.count, worker.z.data(), worker.z.stride(), basis.transposed.view(),
             worker.x.data(), worker.x.stride());
    store_rows(side, block, worker.x);
    return objective;
  }

  void load_rows(Side side, const RowBlock& block, Matrix& x) const {
    const Matrix& from = factors_.side(side);
    for (Index r = 0; r < block.count; ++r) {
      std::copy_n(from.row(block.first + r), params_.factors, x.row(r));
      if (width_ > params_.factors)
        x.row(r)[params_.factors] = factors_.bias(side)[block.first + r];
    }
  }

  void store_rows(Side side, const RowBlock& block, const Matrix& x) {
    Matrix& to = factors_.side(side);
    for (Index r = 0; r < block.count; ++r) {
      std::copy_n(x.row(r), params_.factors, to.row(block.first + r));
      if (width_ > params_.factors)
        factors_.bias(side)[block.first + r] = x.row(r)[params_.factors];
    }
  }

  AlsParams params_;
  Index width_;
  CsrMatrix by_item_;
  Factors factors_;
  HalfStep sides_[2];
  AlsFixedSide fixed_side_;
};

}  // namespace

std::unique_ptr<AlsSolver> make_cpu_als_solver(const CsrView& by_user, const AlsParams& params,
                                               const Factors& start) {
  return std::make_unique<CpuAlsSolver>(by_user, params, start);
}

}  // namespace likewise
