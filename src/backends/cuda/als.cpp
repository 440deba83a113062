// SPDX-License-Identifier: Apache-2.0
/// ALS on one card. The factors stay there between half-steps; the host sees the objective.
#include <algorithm>
#include <cmath>
#include <vector>

#include <fmt/format.h>

#include "algorithms/weights.h"
#include "backends/als_errors.h"
#include "backends/als_tuning.h"
#include "backends/cuda/als_empty.h"
#include "backends/cuda/als_fixed_side.h"
#include "backends/cuda/als_tables.h"
#include "backends/cuda/jobs.h"

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

/// A power of two not below any |value| that a residual takes.
[[nodiscard]] float target_scale(const CsrView& matrix) {
  float largest = 0.0F;
  for (Offset i = 0; i < matrix.nnz(); ++i) largest = std::max(largest, std::abs(matrix.values[i]));
  return std::exp2(std::ceil(std::log2(std::max(1e-30F, 4.0F * largest))));
}

class CudaAlsSolver final : public AlsSolver {
 public:
  CudaAlsSolver(int device, const CsrView& by_user, const AlsParams& params, Factors start,
                int completed_iterations, const AlsTuning& tuning)
      : device_(device),
        setup_(params, tuning),
        factors_(std::move(start)),
        half_steps_(2 * Offset{completed_iterations}),
        target_scale_(target_scale(by_user)),
        fixed_side_(setup_, std::max(by_user.rows, by_user.cols)) {
    load_matrix(by_user);
    const Index most = std::max(by_user.rows, by_user.cols);
    const Offset numbers = Offset{most} * setup_.padded;
    solutions_ = DeviceArray<float>(numbers);
    objectives_ = DeviceArray<double>(most);
    fill_zero(outcome_.data(), 1, stream_);
    const RowPlan& users = sides_[0].plan;
    const RowPlan& items = sides_[1].plan;
    piece_sums_ = DeviceArray<float>(std::max(users.sums, items.sums));
    piece_constants_ = DeviceArray<double>(std::max(users.constants, items.constants));
    fill_zero(solutions_.data(), numbers, stream_);
    fill_zero(objectives_.data(), most, stream_);
    load_factors(Side::kUsers);
    load_factors(Side::kItems);
    stream_.synchronize();
  }

  double solve(Side side, const RunControl& control) override {
    control.check();
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    fixed_side_.prepare(other(side), state(other(side)), state(side).plan, solutions_.data(),
                        &outcome_.data()->regularization, stream_);
    solve_all(side);
    finish(side);
    ++half_steps_;
    on_host_ = false;
    return read_outcome(side);
  }

  const Factors& factors() override {
    if (!on_host_) {
      LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
      fetch_factors(Side::kUsers);
      fetch_factors(Side::kItems);
      stream_.synchronize();
      on_host_ = true;
    }
    return factors_;
  }
  Factors take_factors() override {
    factors();
    return std::move(factors_);
  }

 private:
  [[nodiscard]] AlsSide& state(Side side) { return sides_[side == Side::kItems]; }

  void load_matrix(const CsrView& by_user) {
    AlsSide& users = state(Side::kUsers);
    AlsSide& items = state(Side::kItems);
    users.rows = upload_rows(by_user, stream_);
    weigh_values(users.rows, setup_.params, stream_);
    std::vector<Offset> item_offsets;
    items.rows = transpose_rows(users.rows, item_offsets, stream_);
    users.plan =
        plan_rows(users.rows, {by_user.offsets, static_cast<std::size_t>(by_user.rows) + 1},
                  setup_.params, setup_.tuning, stream_);
    items.plan = plan_rows(items.rows, item_offsets, setup_.params, setup_.tuning, stream_);
  }

  void load_factors(Side side) {
    AlsSide& to = state(side);
    const Matrix& from = factors_.side(side);
    const Index rows = to.rows.rows;
    to.table = DeviceArray<float>(Offset{rows} * setup_.padded);
    fill_zero(to.table.data(), to.table.size(), stream_);
    copy_table(to.table.data(), setup_.padded, from.data(), from.stride(), rows,
               cudaMemcpyHostToDevice);
    if (!setup_.biased) return;
    fill_column(to.table.data(), rows, setup_.padded, setup_.params.factors, 1.0F, stream_);
    to.bias = DeviceArray<float>(rows);
    copy_to_device(to.bias.data(), factors_.bias(side).data(), rows, stream_);
  }

  void fetch_factors(Side side) {
    const AlsSide& from = state(side);
    Matrix& to = factors_.side(side);
    copy_table(to.data(), to.stride(), from.table.data(), setup_.padded, from.rows.rows,
               cudaMemcpyDeviceToHost);
    if (setup_.biased) {
      copy_to_host(factors_.bias(side).data(), from.bias.data(), from.rows.rows, stream_);
    }
  }

  void copy_table(float* to, Index to_stride, const float* from, Index from_stride, Index rows,
                  cudaMemcpyKind kind) {
    if (rows == 0) return;
    constexpr std::size_t kNumber = sizeof(float);
    LIKEWISE_CUDA_CHECK(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride) * kNumber, from,
                                          static_cast<std::size_t>(from_stride) * kNumber,
                                          static_cast<std::size_t>(setup_.params.factors) * kNumber,
                                          static_cast<std::size_t>(rows), kind, stream_));
  }

  [[nodiscard]] RowProblem make_problem(Side side) {
    AlsSide& solved = state(side);
    const AlsParams& params = setup_.params;
    RowProblem problem;
    problem.entries = solved.rows.entries.data();
    problem.regularization = solved.plan.regularization.data();
    problem.largest = solved.plan.largest.data();
    problem.offsets = solved.rows.offsets.data();
    problem.weights = {setup_.is_explicit(), 1.0F,    params.unobserved_weight ? 0.0F : 1.0F,
                       factors_.global_mean, nullptr, target_scale_};
    fixed_side_.describe(problem);
    const Index fewest = std::min(sides_[0].rows.rows, sides_[1].rows.rows);
    problem.limits =
        params.solver == AlsSolverKind::kCg
            ? RowLimits{params.cg_steps, 0.0F, static_cast<float>(params.cg_tolerance)}
            : RowLimits{kAutoSteps, auto_accuracy(params.feedback, half_steps_, fewest), 0.0F};
    problem.exact = setup_.exact;
    problem.warm = !setup_.exact && half_steps_ >= 2;
    problem.solutions = solutions_.data();
    problem.objectives = objectives_.data();
    problem.failed_row = &outcome_.data()->failed_row;
    problem.piece_sums = piece_sums_.data();
    problem.piece_constants = piece_constants_.data();
    return problem;
  }

  void solve_all(Side side) {
    AlsSide& solved = state(side);
    const Index rows = solved.rows.rows;
    const RowProblem problem = make_problem(side);
    if (problem.warm) {
      if (setup_.biased) {
        put_column(solved.table.data(), rows, setup_.padded, setup_.params.factors,
                   solved.bias.data(), stream_);
      }
      fixed_side_.enter(solved.table.data(), rows, solutions_.data(), stream_);
    }
    fill_zero(objectives_.data(), rows, stream_);
    LIKEWISE_CUDA_CHECK(cudaMemsetAsync(problem.failed_row, 0x7f, sizeof(int), stream_));
    solve_rows(setup_.precision, problem, solved.plan, setup_.tuning, stream_);
  }

  void finish(Side side) {
    AlsSide& solved = state(side);
    const Index rows = solved.rows.rows;
    float* table = solved.table.data();
    fixed_side_.leave(solutions_.data(), rows, table, stream_);
    clear_rows(table, setup_.padded, setup_.width, solved.plan.empty_rows.data(),
               solved.plan.empty_count, stream_);
    if (setup_.biased) {
      take_bias(table, rows, setup_.padded, setup_.params.factors, solved.bias.data(), stream_);
    }
    FixedSum::run(objectives_.data(), rows, partial_.data(), &outcome_.data()->rows, stream_);
  }

  [[nodiscard]] double read_outcome(Side side) {
    copy_to_host(host_outcome_.data(), outcome_.data(), 1, stream_);
    stream_.synchronize();
    fixed_side_.check(stream_);
    const Outcome& outcome = *host_outcome_.data();
    if (outcome.failed_row != 0x7f7f7f7f) {
      Offset range[2];
      copy_to_host(range, state(side).rows.offsets.data() + outcome.failed_row, 2, stream_);
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
  float target_scale_;
  Stream stream_;
  AlsFixedSide fixed_side_;
  AlsSide sides_[2];
  DeviceArray<float> solutions_;
  DeviceArray<double> objectives_;
  DeviceArray<double> partial_{FixedSum::kBlocks};
  DeviceArray<Outcome> outcome_{1};
  PinnedArray<Outcome> host_outcome_{1};
  DeviceArray<float> piece_sums_;
  DeviceArray<double> piece_constants_;
};

}  // namespace

AlsSetup::AlsSetup(const AlsParams& given, const AlsTuning& chosen)
    : params(given),
      tuning(chosen),
      exact(als_work(given).exact),
      precision(als_work(given).precision),
      width(als_width(given)),
      biased(width > given.factors),
      padded(chosen.columns) {}

}  // namespace cuda

namespace {

void refuse_what_is_missing(const AlsParams& params) {
  const int most = cuda::kMostPadded - (als_width(params) - params.factors);
  if (params.factors > most) {
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: cards train up to {} in this version, not {}; use the cpu",
                            most, params.factors));
  }
}

}  // namespace

std::unique_ptr<AlsSolver> make_cuda_als_solver(int device, const CsrView& by_user,
                                                const AlsParams& params, Factors start,
                                                int completed_iterations, const AlsTuning& tuning) {
  refuse_what_is_missing(params);
  if (by_user.rows == 0 || by_user.cols == 0) {
    return cuda::make_empty_als_solver(params, std::move(start));
  }
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
  return std::make_unique<cuda::CudaAlsSolver>(device, by_user, params, std::move(start),
                                               completed_iterations, tuning);
}

}  // namespace likewise
