// SPDX-License-Identifier: Apache-2.0
/// ALS on one GPU. What fits stays there between half-steps, the rest passes through it
/// (gpu_plan.h); the host sees the objective.
#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>

#include "algorithms/als/weights.h"
#include "backends/als_errors.h"
#include "backends/cuda/als/als_double_rows.h"
#include "backends/cuda/als/als_empty.h"
#include "backends/cuda/als/als_entries.h"
#include "backends/cuda/als/als_fixed_side.h"
#include "backends/cuda/als/als_tables.h"
#include "backends/cuda/jobs.h"
#include "backends/cuda/linalg/fixed_sum.h"

namespace likewise {
namespace cuda {
namespace {

/// What kAuto may leave of a row's objective; warm starts carry the rest on to the next iteration.
/// Over many rows the errors cancel out, over few they do not.
[[nodiscard]] float auto_accuracy(Feedback feedback, Offset half_steps, Index rows) {
  const float accuracy = feedback == Feedback::kImplicit ? 5e-6F : 1e-7F;
  const float first = half_steps < 2 ? 0.01F : 1.0F;
  return accuracy * first * std::min(1.0F, static_cast<float>(rows) / 1000.0F);
}
constexpr int kAutoSteps = 100;

/// Numbers that a half-step hands to the host.
struct Outcome {
  double rows = 0.0;            ///< the rows' objectives
  double regularization = 0.0;  ///< of the fixed side
  int failed_row = 0;
};

/// That the sums of a piece take.
[[nodiscard]] Offset sum_floats(const AlsSetup& setup) {
  return setup.tuning.wide ? slot_floats(setup.padded) : piece_floats(setup.padded);
}

/// Only explicit rows have nothing but lambda where their ratings say nothing.
[[nodiscard]] bool takes_double_rows(const AlsSetup& setup) {
  return setup.exact && setup.is_explicit();
}

class CudaAlsSolver final : public AlsSolver {
 public:
  CudaAlsSolver(int device, const CsrView& by_user, const AlsSetup& setup, Factors start,
                int completed_iterations)
      : device_(device),
        setup_(setup),
        factors_(std::move(start)),
        half_steps_(2 * Offset{completed_iterations}),
        staging_(staging_bytes(by_user)),
        data_(by_user, setup_, staging_, stream_),
        tables_(setup_, factors_, staging_, stream_),
        feed_(setup_.params, is_streamed() ? setup_.plan.portion_entries : 0, staging_, stream_),
        fixed_side_(setup_, std::max(by_user.rows, by_user.cols)),
        solutions_(Offset{setup_.plan.block_rows} * setup_.padded),
        row_numbers_(std::max(by_user.rows, by_user.cols)),
        piece_sums_(data_.sums()),
        piece_constants_(data_.constants()) {
    fill_zero(outcome_.data(), 1, stream_);
    fill_zero(solutions_.data(), solutions_.size(), stream_);
    if (takes_double_rows(setup_)) {
      double_rows_.emplace(std::min(setup_.plan.block_rows, std::max(by_user.rows, by_user.cols)),
                           setup_.padded);
    }
    stream_.synchronize();
  }

  double solve(Side side, const RunControl& control) override {
    control.check();
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    on_host_ = false;
    fixed_side_.prepare(other(side), data_, tables_,
                        {solutions_.data(), row_numbers_.data(), &outcome_.data()->regularization},
                        control, stream_);
    solve_rows_of(side, control);
    ++half_steps_;
    return read_outcome(side);
  }

  const Factors& factors() override {
    if (!on_host_) {
      LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
      tables_.fetch();
      on_host_ = true;
    }
    return factors_;
  }
  Factors take_factors() override {
    factors();
    return std::move(factors_);
  }

 private:
  [[nodiscard]] bool is_streamed() const { return setup_.plan.placement != Placement::kResident; }

  /// What the longest copies take.
  [[nodiscard]] Offset staging_bytes(const CsrView& by_user) const {
    const Offset entries = by_user.nnz() * Offset{sizeof(RowEntry)};
    return std::max(entries, Offset{std::max(by_user.rows, by_user.cols)} * setup_.padded *
                                 Offset{sizeof(float)});
  }

  /// All that is the same for all blocks and portions.
  [[nodiscard]] RowProblem make_problem(const AlsSide& solved) {
    const AlsParams& params = setup_.params;
    RowProblem problem;
    problem.regularization = solved.plan.regularization.data();
    problem.largest = solved.plan.largest.data();
    problem.offsets = solved.rows.offsets.data();
    problem.weights = {setup_.is_explicit(), like_slope(cell_form(params)), factors_.global_mean,
                       nullptr, data_.target_scale()};
    fixed_side_.describe(problem);
    const Index fewest = std::min(solved.rows.rows, solved.rows.cols);
    problem.limits =
        params.solver == AlsSolverKind::kCg
            ? RowLimits{params.cg_steps, 0.0F, static_cast<float>(params.cg_tolerance),
                        params.plain_steps()}
            : RowLimits{kAutoSteps, auto_accuracy(params.feedback, half_steps_, fewest), 0.0F};
    problem.exact = setup_.exact;
    problem.warm = !setup_.exact && (half_steps_ >= 2 || problem.limits.plain);
    if (double_rows_) problem.hard = double_rows_->queue();
    problem.objectives = row_numbers_.data();
    problem.failed_row = &outcome_.data()->failed_row;
    problem.piece_sums = piece_sums_.data();
    problem.piece_constants = piece_constants_.data();
    return problem;
  }

  /// Block by block: its rows into the basis, solved portion by portion, and back.
  void solve_rows_of(Side side, const RunControl& control) {
    AlsSide& solved = data_.side(side);
    const Index rows = solved.rows.rows;
    RowProblem problem = make_problem(solved);
    fill_zero(row_numbers_.data(), rows, stream_);
    LIKEWISE_CUDA_CHECK(cudaMemsetAsync(problem.failed_row, 0x7f, sizeof(int), stream_));
    const std::vector<RowPortion>& portions = solved.plan.portions;
    std::size_t portion = 0;
    for (Index first = 0; first < rows; first += std::min(setup_.plan.block_rows, rows - first)) {
      control.check();
      const Index count = std::min(setup_.plan.block_rows, rows - first);
      float* table = tables_.open(side, first, count, problem.warm);
      if (problem.warm) enter(side, table, first, count);
      problem.solutions = moved_back(solutions_.data(), Offset{first} * setup_.padded);
      for (; portion < portions.size() && portions[portion].first_row < first + count; ++portion) {
        control.check();
        problem.entries = feed_.open(solved.rows, portions[portion]);
        solve_portion(setup_.precision, problem, solved.plan, portion, setup_.tuning.one_warp,
                      stream_);
        if (double_rows_) {
          double_rows_->solve(setup_.precision, problem, portions[portion], stream_);
        }
        feed_.close();
      }
      leave(side, table, first, count);
      tables_.close(side, first, count);
    }
    tables_.finish();
    FixedSum::run(row_numbers_.data(), rows, partial_.data(), &outcome_.data()->rows, stream_);
  }

  void enter(Side side, float* table, Index first, Index count) {
    if (setup_.biased) {
      put_column(table, count, setup_.padded, setup_.params.factors, tables_.bias(side) + first,
                 stream_);
    }
    fixed_side_.enter(table, count, solutions_.data(), stream_);
  }

  void leave(Side side, float* table, Index first, Index count) {
    fixed_side_.leave(solutions_.data(), count, table, stream_);
    clear_empty_rows(table, count, setup_.padded, setup_.width,
                     data_.side(side).rows.offsets.data() + first, stream_);
    if (setup_.biased) {
      take_bias(table, count, setup_.padded, setup_.params.factors, tables_.bias(side) + first,
                stream_);
    }
  }

  [[nodiscard]] double read_outcome(Side side) {
    copy_to_host(host_outcome_.data(), outcome_.data(), 1, stream_);
    stream_.synchronize();
    fixed_side_.check(stream_);
    const Outcome& outcome = *host_outcome_.data();
    if (outcome.failed_row != 0x7f7f7f7f) {
      Offset range[2];
      copy_to_host(range, data_.side(side).rows.offsets.data() + outcome.failed_row, 2, stream_);
      stream_.synchronize();
      throw_singular(side, outcome.failed_row, range[1] - range[0], 0);
    }
    return outcome.rows + outcome.regularization;
  }

  int device_;
  AlsSetup setup_;
  Factors factors_;
  bool on_host_ = true;
  Offset half_steps_;  ///< done so far, those before the start included
  Stream stream_;
  Staging staging_;
  AlsData data_;  ///< first: what it takes in passing is planned to be free afterwards
  AlsFactorTables tables_;
  EntryFeed feed_;
  AlsFixedSide fixed_side_;
  DeviceArray<float> solutions_;     ///< of a block
  DeviceArray<double> row_numbers_;  ///< objectives of the rows, or their regularization
  DeviceArray<float> piece_sums_;
  DeviceArray<double> piece_constants_;
  std::optional<DoubleRows> double_rows_;
  DeviceArray<double> partial_{FixedSum::kBlocks};
  DeviceArray<Outcome> outcome_{1};
  PinnedArray<Outcome> host_outcome_{1};
};

/// Bytes of small matrices that are there in any training.
[[nodiscard]] Offset workspace_bytes(int padded) {
  const Offset square = Offset{padded} * padded;
  return GramSum::bytes(padded) + 80 * square + (Offset{1} << 16);
}

[[nodiscard]] GpuAlsNeeds needs_of(const AlsShape& shape, const AlsSetup& setup) {
  GpuAlsNeeds needs;
  needs.shape = shape;
  needs.columns = setup.padded;
  needs.stored_bytes = stored_bytes(setup.precision);
  needs.has_biases = setup.biased;
  needs.piece = setup.tuning.piece;
  needs.piece_bytes = sum_floats(setup) * Offset{sizeof(float)} + Offset{sizeof(double)};
  needs.task_bytes = sizeof(RowTask);
  needs.workspace = workspace_bytes(setup.padded);
  if (takes_double_rows(setup)) {
    needs.workspace += DoubleRows::bytes(std::max(shape.users, shape.items), setup.padded);
  }
  if (setup.tuning.wide) {
    needs.longest_row = std::min<Offset>(shape.interactions, std::max(shape.users, shape.items));
    needs.task_bytes *= 2;  // for what sums a row, and what solves it
    needs.slots = most_wide_slots(setup.padded);
    needs.workspace += shape.interactions / 8;  // where rows meet chunks of the table
  }
  return needs;
}

/// Makes the GPU the current one.
[[nodiscard]] AlsSetup settle(const GpuUse& use, const AlsShape& shape, const AlsParams& params) {
  LIKEWISE_CUDA_CHECK(cudaSetDevice(use.devices.front()));
  AlsSetup setup(params, use.tuning);
  setup.plan = plan_gpu_als(needs_of(shape, setup), available_bytes(use.memory));
  return setup;
}

}  // namespace
}  // namespace cuda

namespace {

void refuse_what_is_missing(const GpuUse& use, const AlsParams& params) {
  if (use.devices.size() != 1) {
    throw Error(ErrorKind::kDevice, "training on several GPUs is not in this version");
  }
  const int most = cuda::kMostPadded - (als_width(params) - params.factors);
  if (params.factors > most) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: GPUs train up to {} in this version, not {}; use the cpu",
                            most, params.factors));
  }
}

}  // namespace

MemoryPlan plan_cuda_als(const GpuUse& use, const AlsShape& shape, const AlsParams& params) {
  refuse_what_is_missing(use, params);
  if (shape.users == 0 || shape.items == 0) return {};
  return cuda::settle(use, shape, params).plan.memory;
}

std::unique_ptr<AlsSolver> make_cuda_als_solver(const GpuUse& use, const CsrView& by_user,
                                                const AlsParams& params, Factors start,
                                                int completed_iterations) {
  refuse_what_is_missing(use, params);
  if (by_user.rows == 0 || by_user.cols == 0) {
    return cuda::make_empty_als_solver(params, std::move(start));
  }
  const cuda::AlsSetup setup =
      cuda::settle(use, {by_user.rows, by_user.cols, by_user.nnz()}, params);
  return std::make_unique<cuda::CudaAlsSolver>(use.devices.front(), by_user, setup,
                                               std::move(start), completed_iterations);
}

}  // namespace likewise
