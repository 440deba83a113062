// SPDX-License-Identifier: Apache-2.0
/// ALS on one card. The factors stay there between half-steps; the host sees the objective.
#include <cmath>
#include <limits>
#include <vector>

#include <fmt/format.h>

#include "algorithms/weights.h"
#include "backends/als_errors.h"
#include "backends/als_tuning.h"
#include "backends/cuda/als_matrix.h"
#include "backends/cuda/als_rows.h"
#include "backends/cuda/als_tables.h"
#include "backends/cuda/dense.h"
#include "backends/cuda/device/attributes.h"
#include "backends/cuda/device/memory.h"
#include "backends/cuda/jobs.h"

namespace likewise {
namespace cuda {
namespace {

/// What kAuto may leave of a row's objective; warm starts carry the rest on to the next iteration.
[[nodiscard]] float auto_accuracy(Feedback feedback, Offset half_steps) {
  const float accuracy = feedback == Feedback::kImplicit ? 5e-6F : 1e-7F;
  return half_steps < 2 ? accuracy / 100.0F : accuracy;
}
constexpr int kAutoSteps = 100;

/// Numbers that a half-step hands to the host.
struct Outcome {
  double rows = 0.0;            ///< the rows' objectives
  double regularization = 0.0;  ///< of the fixed side
  int failed_row = 0;
};

class CudaAlsSolver final : public AlsSolver {
 public:
  CudaAlsSolver(int device, const CsrView& by_user, const AlsParams& params, Factors start,
                int completed_iterations, const AlsTuning& tuning)
      : device_(device),
        params_(params),
        tuning_(tuning),
        exact_(als_work(params).exact),
        precision_(als_work(params).precision),
        width_(als_width(params)),
        biased_(width_ > params.factors),
        padded_(tuning.columns),
        factors_(std::move(start)),
        gram_sum_(padded_),
        transform_(padded_),
        back_(padded_),
        enter_(padded_),
        small_(2 * Offset{padded_} * padded_),
        half_steps_(2 * Offset{completed_iterations}),
        basis_{BasisMaker(width_, padded_), BasisMaker(width_, padded_)} {
    refuse_too_wide();
    load_matrix(by_user);
    const Index most = std::max(by_user.rows, by_user.cols);
    const Offset numbers = Offset{most} * padded_;
    stored_ = DeviceArray<unsigned char>(numbers * stored_bytes(precision_));
    solutions_ = DeviceArray<float>(numbers);
    gram_ = DeviceArray<double>(Offset{padded_} * padded_);
    objectives_ = DeviceArray<double>(most);
    partial_ = DeviceArray<double>(FixedSum::kBlocks);
    outcome_ = DeviceArray<Outcome>(1);
    fill_zero(outcome_.data(), 1, stream_);
    const int pieces = std::max(sides_[0].plan.pieces, sides_[1].plan.pieces);
    piece_sums_ = DeviceArray<float>(pieces * piece_floats(padded_));
    piece_constants_ = DeviceArray<double>(pieces);
    fill_zero(solutions_.data(), numbers, stream_);
    fill_zero(objectives_.data(), most, stream_);
    load_factors(Side::kUsers);
    load_factors(Side::kItems);
    stream_.synchronize();
  }

  double solve(Side side, const RunControl& control) override {
    control.check();
    LIKEWISE_CUDA_CHECK(cudaSetDevice(device_));
    prepare_fixed(other(side));
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
  /// Cards differ in the shared memory that a block may have.
  void refuse_too_wide() const {
    const int needed = row_bytes(precision_, exact_, padded_);
    const int available = largest_shared_memory();
    if (needed <= available) return;
    throw Error(ErrorKind::kInvalidArgument,
                fmt::format("factors: with this solver and precision, {} need {} bytes of shared "
                            "memory, card {} has {}; use fewer factors, another solver or the cpu",
                            params_.factors, needed, device_, available));
  }

  struct SideState {
    DeviceRows rows;
    RowPlan plan;
    DeviceArray<float> table;  ///< rows x padded: the factors, with a 1 behind them where biased
    DeviceArray<float> bias;
    float host_scale = 1.0F;  ///< of the stored table, when this side is fixed
    DeviceArray<float> scale;
  };

  [[nodiscard]] SideState& state(Side side) { return sides_[side == Side::kItems]; }

  void load_matrix(const CsrView& by_user) {
    state(Side::kUsers).rows = upload_rows(by_user, stream_);
    weigh_values(state(Side::kUsers).rows, params_, stream_);
    std::vector<Offset> item_offsets;
    state(Side::kItems).rows = transpose_rows(state(Side::kUsers).rows, item_offsets, stream_);
    state(Side::kUsers).plan = plan_rows(
        state(Side::kUsers).rows, {by_user.offsets, static_cast<std::size_t>(by_user.rows) + 1},
        params_, tuning_, stream_);
    state(Side::kItems).plan =
        plan_rows(state(Side::kItems).rows, item_offsets, params_, tuning_, stream_);
    float largest = 0.0F;
    for (Offset i = 0; i < by_user.nnz(); ++i) {
      largest = std::max(largest, std::abs(by_user.values[i]));
    }
    target_scale_ = std::exp2(std::ceil(std::log2(std::max(1e-30F, 4.0F * largest))));
  }

  void load_factors(Side side) {
    SideState& to = state(side);
    to.host_scale = table_scale(to);
    to.scale = DeviceArray<float>(1);
    copy_to_device(to.scale.data(), &to.host_scale, 1, stream_);
    const Matrix& from = factors_.side(side);
    const Index rows = to.rows.rows;
    to.table = DeviceArray<float>(Offset{rows} * padded_);
    fill_zero(to.table.data(), to.table.size(), stream_);
    copy_table(to.table.data(), padded_, from.data(), from.stride(), rows, cudaMemcpyHostToDevice);
    if (!biased_) return;
    fill_column(to.table.data(), rows, padded_, params_.factors, 1.0F, stream_);
    to.bias = DeviceArray<float>(rows);
    copy_to_device(to.bias.data(), factors_.bias(side).data(), rows, stream_);
  }

  void fetch_factors(Side side) {
    const SideState& from = state(side);
    Matrix& to = factors_.side(side);
    copy_table(to.data(), to.stride(), from.table.data(), padded_, from.rows.rows,
               cudaMemcpyDeviceToHost);
    if (biased_) {
      copy_to_host(factors_.bias(side).data(), from.bias.data(), from.rows.rows, stream_);
    }
  }

  void copy_table(float* to, Index to_stride, const float* from, Index from_stride, Index rows,
                  cudaMemcpyKind kind) {
    if (rows == 0) return;
    constexpr std::size_t kNumber = sizeof(float);
    LIKEWISE_CUDA_CHECK(cudaMemcpy2DAsync(to, static_cast<std::size_t>(to_stride) * kNumber, from,
                                          static_cast<std::size_t>(from_stride) * kNumber,
                                          static_cast<std::size_t>(params_.factors) * kNumber,
                                          static_cast<std::size_t>(rows), kind, stream_));
  }

  [[nodiscard]] bool is_explicit() const { return params_.feedback == Feedback::kExplicit; }

  /// The basis of the half-step, and the fixed side in it, stored.
  void prepare_fixed(Side side) {
    SideState& fixed = state(side);
    const Index rows = fixed.rows.rows;
    const RowPlan& solved_plan = state(other(side)).plan;
    BasisMaker& maker = basis_[side == Side::kItems];
    gram_sum_.run(fixed.table.data(), rows, is_explicit() ? fixed.plan.shares.data() : nullptr,
                  gram_.data(), stream_);
    const double missing = is_explicit() ? 1.0 : missing_weight(params_);
    const bool same_lambda =
        !is_explicit() && params_.regularization_exponent == 0.0 && params_.regularization > 0.0;
    const double lambda = same_lambda     ? params_.regularization
                          : is_explicit() ? solved_plan.typical_regularization
                                          : solved_plan.smallest_regularization;
    if (same_lambda) {
      maker.by_cholesky(gram_.data(), missing, lambda, stream_);
    } else {
      maker.by_eigenvectors(gram_.data(), missing, lambda, stream_);
    }
    transform_.set(maker.basis().transform.data(), stream_);
    back_.set(maker.basis().back.data(), stream_);
    if (!exact_) {
      // The inverse of `back`: T^-T = (w G + lambda I) T, since T T^T = (w G + lambda I)^-1.
      float* product = small_.data() + Offset{padded_} * padded_;
      regularized_gram(gram_.data(), width_, padded_, missing, lambda, small_.data(), stream_);
      multiply_rows(small_.data(), padded_, transform_, product, stream_);
      enter_.set(product, stream_);
    }
    store_in_basis(fixed);
    FixedSum::run_regularization(fixed.table.data(), rows, padded_, params_.factors,
                                 fixed.bias.data(), fixed.plan.regularization.data(),
                                 partial_.data(), &outcome_.data()->regularization, stream_);
  }

  void store_in_basis(const SideState& fixed) {
    const Index rows = fixed.rows.rows;
    if (precision_ == Precision::kFp16) {
      multiply_rows_half(fixed.table.data(), rows, transform_, fixed.scale.data(),
                         reinterpret_cast<__half*>(stored_.data()), stream_);
      return;
    }
    multiply_rows(fixed.table.data(), rows, transform_, solutions_.data(), stream_);
    store_table(precision_, solutions_.data(), Offset{rows} * padded_, fixed.host_scale,
                stored_.data(), stream_);
  }

  /// Rows in the basis are bounded: |v|^2 <= 1 / w0 (implicit), <= ratings / ratings of the row
  /// (explicit).
  [[nodiscard]] double row_bound(const SideState& fixed) const {
    if (!is_explicit()) return 1.0 / std::sqrt(missing_weight(params_));
    return std::sqrt(static_cast<double>(fixed.rows.nnz) /
                     static_cast<double>(std::max<Offset>(1, fixed.plan.smallest_count)));
  }

  /// Uses float16's range well and cannot overflow it.
  [[nodiscard]] float table_scale(const SideState& fixed) const {
    const double most =
        is_explicit() ? std::min(64.0, 30000.0 / row_bound(fixed)) : 4096.0 / row_bound(fixed);
    return static_cast<float>(std::exp2(std::floor(std::log2(most))));
  }

  void solve_all(Side side) {
    SideState& solved = state(side);
    const SideState& fixed = state(other(side));
    const Basis& basis = basis_[side == Side::kUsers].basis();
    RowProblem problem;
    problem.table = stored_.data();
    problem.scale = fixed.host_scale;
    problem.row_bound = static_cast<float>(row_bound(fixed)) * fixed.host_scale;
    problem.padded = padded_;
    problem.base = basis.base.data();
    problem.shrink = basis.shrink.data();
    problem.entries = solved.rows.entries.data();
    problem.regularization = solved.plan.regularization.data();
    problem.largest = solved.plan.largest.data();
    problem.offsets = solved.rows.offsets.data();
    problem.weights = {is_explicit(),
                       1.0F,
                       params_.unobserved_weight ? 0.0F : 1.0F,
                       factors_.global_mean,
                       fixed.bias.data(),
                       target_scale_};
    problem.limits =
        params_.solver == AlsSolverKind::kCg
            ? RowLimits{params_.cg_steps, 0.0F, static_cast<float>(params_.cg_tolerance)}
            : RowLimits{kAutoSteps, auto_accuracy(params_.feedback, half_steps_), 0.0F};
    problem.exact = exact_;
    problem.warm = !exact_ && half_steps_ >= 2;
    if (problem.warm) {
      if (biased_) {
        put_column(solved.table.data(), solved.rows.rows, padded_, params_.factors,
                   solved.bias.data(), stream_);
      }
      multiply_rows(solved.table.data(), solved.rows.rows, enter_, solutions_.data(), stream_);
    }
    problem.solutions = solutions_.data();
    problem.objectives = objectives_.data();
    problem.failed_row = &outcome_.data()->failed_row;
    problem.piece_sums = piece_sums_.data();
    problem.piece_constants = piece_constants_.data();
    fill_zero(objectives_.data(), solved.rows.rows, stream_);
    LIKEWISE_CUDA_CHECK(cudaMemsetAsync(problem.failed_row, 0x7f, sizeof(int), stream_));
    solve_rows(precision_, problem, solved.plan.tasks.data(), solved.plan.task_count, stream_);
    solve_short_rows(problem, solved.plan.short_tasks.data(), solved.plan.short_counts,
                     tuning_.one_warp, stream_);
    solve_rows(precision_, problem, solved.plan.ends.data(), solved.plan.end_count, stream_);
  }

  void finish(Side side) {
    SideState& solved = state(side);
    const Index rows = solved.rows.rows;
    multiply_rows(solutions_.data(), rows, back_, solved.table.data(), stream_);
    clear_rows(solved.table.data(), padded_, width_, solved.plan.empty_rows.data(),
               solved.plan.empty_count, stream_);
    if (biased_) {
      take_bias(solved.table.data(), rows, padded_, params_.factors, solved.bias.data(), stream_);
    }
    FixedSum::run(objectives_.data(), rows, partial_.data(), &outcome_.data()->rows, stream_);
  }

  [[nodiscard]] double read_outcome(Side side) {
    copy_to_host(host_outcome_.data(), outcome_.data(), 1, stream_);
    stream_.synchronize();
    basis_[side == Side::kUsers].check(stream_);
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
  AlsParams params_;
  AlsTuning tuning_;
  bool exact_;
  Precision precision_;
  int width_;
  bool biased_;
  int padded_;
  Factors factors_;
  bool on_host_ = true;
  float target_scale_ = 1.0F;
  Stream stream_;
  GramSum gram_sum_;
  SplitMatrix transform_;
  SplitMatrix back_;
  SplitMatrix enter_;
  DeviceArray<float> small_;  ///< two padded x padded matrices
  Offset half_steps_;         ///< done so far, those before the start included
  BasisMaker basis_[2];       ///< by fixed side
  SideState sides_[2];
  DeviceArray<unsigned char> stored_;
  DeviceArray<float> solutions_;
  DeviceArray<double> gram_;
  DeviceArray<double> objectives_;
  DeviceArray<double> partial_;
  DeviceArray<Outcome> outcome_;
  PinnedArray<Outcome> host_outcome_{1};
  DeviceArray<float> piece_sums_;
  DeviceArray<double> piece_constants_;
};

}  // namespace
}  // namespace cuda

namespace {

/// Of a matrix without rows or columns: every row that there is has no entries.
class EmptyAlsSolver final : public AlsSolver {
 public:
  EmptyAlsSolver(const AlsParams& params, Factors factors)
      : params_(params), factors_(std::move(factors)) {}

  double solve(Side side, const RunControl&) override {
    Matrix& solved = factors_.side(side);
    solved = Matrix(solved.rows(), solved.cols());
    for (float& bias : factors_.bias(side)) bias = 0.0F;
    return regularization(other(side));
  }
  const Factors& factors() override { return factors_; }
  Factors take_factors() override { return std::move(factors_); }

 private:
  [[nodiscard]] double regularization(Side side) const {
    const Matrix& table = factors_.side(side);
    double squares = 0.0;
    for (Index row = 0; row < table.rows(); ++row) {
      for (const float x : table.row_span(row)) squares += static_cast<double>(x) * x;
    }
    for (const float bias : factors_.bias(side)) squares += static_cast<double>(bias) * bias;
    return squares * row_regularization(params_, 0, factors_.side(other(side)).rows());
  }

  AlsParams params_;
  Factors factors_;
};

void refuse_what_is_missing(const AlsParams& params) {
  const int most = cuda::kMaxRowsPadded - (als_width(params) - params.factors);
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
    return std::make_unique<EmptyAlsSolver>(params, std::move(start));
  }
  LIKEWISE_CUDA_CHECK(cudaSetDevice(device));
  return std::make_unique<cuda::CudaAlsSolver>(device, by_user, params, std::move(start),
                                               completed_iterations, tuning);
}

}  // namespace likewise
