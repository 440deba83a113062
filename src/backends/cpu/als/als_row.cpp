// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_row.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "algorithms/als/weights.h"
#include "backends/jobs/als_solver.h"
#include "core/linalg/dense_kernels.h"
#include "likewise/matrix.h"

namespace likewise {
namespace {

/// Stops rows that would not converge: float32 cannot use more steps than this.
constexpr int kAutoSteps = 100;

/// A row is short for kAuto with fewer interactions than this many times its unknowns: in some
/// directions then only lambda determines its solution.
constexpr Offset kShort = 4;
/// And hardly regularized where its ratings outweigh lambda by this factor.
constexpr double kHardly = 10.0;

/// Confidences below 1 leave a row's matrix less than its preconditioner, and what one step says of
/// the next steps is less: kAuto asks for that much more, up to this.
constexpr double kLeastConfidence = 1e-3;

/// Rows of the fixed side that the Gram matrix takes at a time: they stay in cache.
constexpr Index kGramRows = 64;

}  // namespace

float AlsRowContext::least_confidence(std::span<const float> values) const {
  float least = 1.0F;
  if (weighing.form != CellForm::kGiven) return least;
  for (const float value : values) least = std::min(least, weighing.alpha * std::abs(value));
  return least;
}

double AlsRowContext::regularization(std::span<const float> values) const {
  return row_regularization(params, counted_entries(params, values), fixed_rows);
}

/// Conjugate gradients would take about as many steps as there are unknowns. In directions that
/// only lambda determines, their error hardly changes this row's objective, but the next
/// half-step's.
bool AlsRowContext::is_flat(Offset count, double lambda) const {
  if (params.solver != AlsSolverKind::kAuto || params.feedback != Feedback::kExplicit) {
    return false;
  }
  const std::vector<double>& spectrum = basis.values;
  return count < kShort * std::ssize(spectrum) &&
         static_cast<double>(count) * spectrum[spectrum.size() / 2] > kHardly * lambda;
}

CgLimits AlsRowContext::cg_limits(float least_confidence) const {
  if (params.solver == AlsSolverKind::kCg) return {params.cg_steps, 0.0, params.cg_tolerance};
  return {kAutoSteps, accuracy * std::max(double{least_confidence}, kLeastConfidence), 0.0};
}

bool AlsRowContext::samples_curvature(Offset count) const {
  return count >= kSampledRow && likewise::samples_curvature(params);
}

void AlsRowContext::set_diagonals(double lambda, Offset count, float* diagonal,
                                  float* inverse) const {
  const std::vector<double>& spectrum = basis.values;
  const bool implicit = params.feedback == Feedback::kImplicit;
  const double times = implicit ? 1.0 : static_cast<double>(count);
  const double square = double{scale} * scale;
  const double floor = std::max(times * spectrum.back() * 1e-12,
                                static_cast<double>(std::numeric_limits<float>::min()));
  for (std::size_t j = 0; j < spectrum.size(); ++j) {
    const double expected = times * spectrum[j] + lambda;
    diagonal[j] = static_cast<float>(square * (implicit ? expected : lambda));
    inverse[j] = params.plain_steps()
                     ? 1.0F
                     : static_cast<float>(1.0 / (square * std::max(expected, floor)));
  }
}

kernels::Segment SegmentBuffer::fill(const AlsRowContext& context, const Index* columns,
                                     const float* values, Offset count, double& constant) {
  const Offset padded = kernels::padded_tiles(count);
  if (padded > w_.size()) {
    columns_ = Array<Index>::uninitialized(2 * padded);
    w_ = Array<float>::uninitialized(2 * padded);
    v_ = Array<float>::uninitialized(2 * padded);
  }
  constant += kernels::weigh(context.weighing, columns, values, count, columns_.data(), w_.data(),
                             v_.data());
  count_ = count;
  return {context.table, columns_.data(), w_.data(), v_.data(), padded};
}

kernels::Segment SegmentBuffer::sample(const kernels::Segment& all, Offset first, Offset& count) {
  Offset to = 0;
  count = 0;
  for (Offset at = first * kernels::kPassRows; at < all.padded;
       at += kSampleStep * kernels::kPassRows, to += kernels::kPassRows) {
    std::copy_n(columns_.data() + at, kernels::kPassRows, columns_.data() + to);
    std::copy_n(w_.data() + at, kernels::kPassRows, w_.data() + to);
    count += std::min(kernels::kPassRows, count_ - at);
  }
  return {all.rows, columns_.data(), w_.data(), nullptr, to};
}

AlsRowSolver::AlsRowSolver(const AlsRowContext& context)
    : context_(context),
      diagonal_(context.stride()),
      inverse_(context.stride()),
      r_(context.stride()),
      p_(context.stride()),
      product_(context.stride()),
      start_(context.stride()) {
  if (context.params.solver == AlsSolverKind::kCg) return;
  const Index d = context.table.cols;
  gram_ = Matrix(d, d);
  pack_ = Matrix(std::max(d, kGramRows), d);
  scaled_ = Matrix(std::max(d, kGramRows), d);
  dual_ = Array<float>(context.stride());
  roots_ = Array<float>(context.stride());
}

double AlsRowSolver::solve(std::span<const Index> columns, std::span<const float> values,
                           double lambda, float* z, Index& pivot) {
  pivot = -1;
  const auto count = static_cast<Offset>(columns.size());
  if (count == 0) {
    std::fill_n(z, context_.stride(), 0.0F);
    return 0.0;
  }
  Cells row{{}, count, 0.0, context_.least_confidence(values)};
  row.segment = buffer_.fill(context_, columns.data(), values.data(), count, row.constant);
  const Index stride = row.segment.rows.stride;
  context_.set_diagonals(lambda, count, diagonal_.data(), inverse_.data());
  if (context_.exact || context_.is_flat(count, lambda)) {
    std::copy_n(z, stride, start_.data());
    const double objective = solve_exactly(row, z, pivot);
    if (pivot < 0 || context_.params.solver == AlsSolverKind::kCholesky) return objective;
    // Rounding made the system singular; conjugate gradients still work.
    pivot = -1;
    std::copy_n(start_.data(), stride, z);
  }
  return solve_cg(row, z, pivot);
}

double AlsRowSolver::solve_exactly(const Cells& row, float* z, Index& pivot) {
  const kernels::Segment& s = row.segment;
  // The dual takes roots of the weights.
  const bool dual =
      row.least_confidence >= 1.0F && row.count < context_.table.cols && diagonal_[0] > 0.0F;
  dual ? solve_dual(s, row.count, z, pivot) : solve_gram(s, z, pivot);
  // constant + z^T A z - 2 b^T z, with A z computed again: its error is of second order in z's.
  const double zdz = kernels::scale_square(diagonal_.data(), z, product_.data(), s.rows.stride);
  const kernels::StartSums sums = kernels::add_residual(s, z, r_.data());
  const double objective = row.constant + zdz + sums.wqq - 2.0 * sums.vq;
  if (pivot < 0 && !std::isfinite(objective)) pivot = 0;
  return objective;
}

double AlsRowSolver::solve_cg(const Cells& row, float* z, Index& pivot) {
  const kernels::Segment& s = row.segment;
  ConjugateGradients cg(
      {diagonal_.data(), inverse_.data(), z, r_.data(), p_.data(), product_.data(), s.rows.stride},
      context_.cg_limits(row.least_confidence));
  cg.begin();
  cg.start(kernels::add_residual(s, z, r_.data()), row.constant);
  while (!cg.done()) {
    cg.before_product();
    cg.after_product(cg.last() ? last_curvature(row)
                               : kernels::add_product(s, p_.data(), product_.data()));
  }
  if (!cg.positive()) pivot = 0;
  return cg.objective();
}

double AlsRowSolver::last_curvature(const Cells& row) {
  if (!context_.samples_curvature(row.count)) return kernels::curvature(row.segment, p_.data());
  Offset sampled = 0;
  const kernels::Segment part = buffer_.sample(row.segment, 0, sampled);
  return kernels::curvature(part, p_.data()) * static_cast<double>(row.count) /
         static_cast<double>(sampled);
}

void AlsRowSolver::solve_gram(const kernels::Segment& s, float* z, Index& pivot) {
  const Index d = context_.table.cols;
  std::fill_n(z, s.rows.stride, 0.0F);
  kernels::add_rows(s, s.v, z);
  for (Offset first = 0; first < s.padded; first += kGramRows) {
    const auto rows = static_cast<Index>(std::min<Offset>(kGramRows, s.padded - first));
    kernels::copy_rows(s, first, rows, pack_.data());
    for (Index r = 0; r < rows; ++r) {
      const float* y = pack_.row(r);
      for (Index j = 0; j < s.rows.stride; ++j) scaled_.row(r)[j] = s.w[first + r] * y[j];
    }
    kernels::multiply({d, d, rows, scaled_.data(), 1, s.rows.stride, pack_.data(), s.rows.stride,
                       gram_.data(), s.rows.stride, first > 0, true});
  }
  for (Index j = 0; j < d; ++j) gram_.row(j)[j] += diagonal_[j];
  pivot = kernels::cholesky_upper(gram_.data(), d, s.rows.stride);
  if (pivot < 0) kernels::solve_upper(gram_.data(), d, s.rows.stride, z);
}

/// With D = diag(diagonal) and U = W^1/2 V D^-1/2:  (I + U U^T) t = W^-1/2 v,  z = D^-1/2 U^T t.
/// A like stays one, however small its weight.
void AlsRowSolver::solve_dual(const kernels::Segment& s, Offset count, float* z, Index& pivot) {
  const Index d = context_.table.cols;
  const auto n = static_cast<Index>(count);
  const Index stride = padded_stride(n);
  for (Index i = 0; i < n; ++i) {
    const float least = s.v[i] == 0.0F ? 0.0F : std::numeric_limits<float>::min();
    roots_[i] = std::sqrt(std::max(s.w[i], least));
  }
  kernels::copy_rows(s, 0, n, scaled_.data());
  // The columns of `pack` are the rows of U, so that U U^T is a product of its rows.
  for (Index j = 0; j < d; ++j) {
    float* row = pack_.data() + Offset{j} * stride;
    const float scale = 1.0F / std::sqrt(diagonal_[j]);
    for (Index i = 0; i < n; ++i) {
      row[i] = scale * roots_[i] * scaled_.row(i)[j];
    }
    std::fill(row + n, row + stride, 0.0F);
  }
  kernels::multiply(
      {n, n, d, pack_.data(), 1, stride, pack_.data(), stride, gram_.data(), stride, false, true});
  std::fill(dual_.begin(), dual_.end(), 0.0F);
  for (Index i = 0; i < n; ++i) {
    gram_.data()[Offset{i} * stride + i] += 1.0F;
    dual_[i] = roots_[i] > 0.0F ? s.v[i] / roots_[i] : 0.0F;
  }
  pivot = kernels::cholesky_upper(gram_.data(), n, stride);
  if (pivot >= 0) return;
  kernels::solve_upper(gram_.data(), n, stride, dual_.data());
  for (Index i = 0; i < n; ++i) dual_[i] *= roots_[i];
  std::fill_n(z, s.rows.stride, 0.0F);
  std::fill(dual_.begin() + n, dual_.end(), 0.0F);
  kernels::add_rows(s, dual_.data(), z);
  for (Index j = 0; j < d; ++j) z[j] /= diagonal_[j];
}

}  // namespace likewise
