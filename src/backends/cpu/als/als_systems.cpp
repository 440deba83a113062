// SPDX-License-Identifier: Apache-2.0
#include "backends/cpu/als/als_systems.h"

#include <algorithm>
#include <cmath>

#include "backends/distributed/als/als_exchange.h"
#include "core/linalg/cholesky.h"
#include "core/linalg/dense_kernels.h"

namespace likewise {
namespace {

/// Interactions that are summed in float32: their rows stay in cache.
constexpr Index kBlock = 128;
static_assert(kBlock % kernels::kPassRows == 0);

}  // namespace

AlsSystemSum::AlsSystemSum(const AlsRowContext& context)
    : context_(context),
      pack_(kBlock, context.table.cols),
      scaled_(kBlock, context.table.cols),
      gram_(context.table.cols, context.table.cols),
      right_(context.stride()) {}

void AlsSystemSum::sum(std::span<const Index> columns, std::span<const float> values,
                       std::span<double> system) {
  std::ranges::fill(system, 0.0);
  if (columns.empty()) return;
  const kernels::Segment all =
      buffer_.fill(context_, columns.data(), values.data(), std::ssize(columns), system.back());
  for (Offset first = 0; first < all.padded; first += kBlock) {
    add_block({all.rows, all.columns + first, all.w + first, all.v + first,
               std::min<Offset>(kBlock, all.padded - first)},
              system);
  }
}

void AlsSystemSum::add_block(const kernels::Segment& block, std::span<double> system) {
  const Index d = context_.table.cols;
  const auto rows = static_cast<Index>(block.padded);
  kernels::copy_rows(block, 0, rows, pack_.data());
  for (Index r = 0; r < rows; ++r) {
    const float* y = pack_.row(r);
    for (Index j = 0; j < block.rows.stride; ++j) scaled_.row(r)[j] = block.w[r] * y[j];
  }
  kernels::multiply({d, d, rows, scaled_.data(), 1, block.rows.stride, pack_.data(),
                     block.rows.stride, gram_.data(), block.rows.stride, false, true});
  double* to = system.data();
  for (Index j = 0; j < d; ++j) {
    for (Index i = j; i < d; ++i) *to++ += gram_.row(j)[i];
  }
  std::ranges::fill(right_.span(), 0.0F);
  kernels::add_rows(block, block.v, right_.data());
  for (Index j = 0; j < d; ++j) *to++ += right_[j];
}

AlsSystemSolver::AlsSystemSolver(const AlsRowContext& context)
    : context_(context),
      width_(static_cast<std::size_t>(context.table.cols)),
      m_(width_ * width_),
      b_(width_),
      factored_(width_ * width_),
      solution_(width_),
      diagonal_(context.stride()),
      inverse_(context.stride()),
      r_(context.stride()),
      p_(context.stride()),
      product_(context.stride()),
      bounded_(context.table.cols, context.params.factors) {}

double AlsSystemSolver::solve(std::span<const double> system, std::span<const float> values,
                              float* z, Index& pivot) {
  pivot = -1;
  if (values.empty()) {
    std::fill_n(z, context_.stride(), 0.0F);
    return 0.0;
  }
  const Offset count = std::ssize(values);
  const double lambda = context_.regularization(values);
  unpack(system);
  context_.set_diagonals(lambda, count, diagonal_.data(), inverse_.data());
  if (context_.params.nonnegative) return solve_nonnegative(system.back(), z, pivot);
  if (context_.exact || context_.is_flat(count, lambda)) {
    const double objective = solve_exactly(system.back(), z, pivot);
    if (pivot < 0 || context_.params.solver == AlsSolverKind::kCholesky) return objective;
    // Rounding made the system singular; conjugate gradients still work.
    pivot = -1;
  }
  return solve_cg(system.back(), context_.cg_limits(context_.least_confidence(values)), z, pivot);
}

void AlsSystemSolver::unpack(std::span<const double> system) {
  const double* from = system.data();
  for (std::size_t j = 0; j < width_; ++j) {
    for (std::size_t i = j; i < width_; ++i) {
      m_[i * width_ + j] = m_[j * width_ + i] = *from++;
    }
  }
  std::copy_n(from, width_, b_.begin());
}

/// z is stored only where there is a solution.
double AlsSystemSolver::solve_exactly(double constant, float* z, Index& pivot) {
  factored_ = m_;
  solution_ = b_;
  for (std::size_t j = 0; j < width_; ++j)
    factored_[j * width_ + j] += diagonal_[static_cast<Offset>(j)];
  const auto d = static_cast<Index>(width_);
  pivot = cholesky_factor(factored_.data(), d);
  if (pivot >= 0) return 0.0;
  cholesky_solve(factored_.data(), d, solution_.data());
  // constant + z^T A z - 2 b^T z
  double objective = constant;
  for (std::size_t j = 0; j < width_; ++j) {
    const double one = solution_[j];
    double product = diagonal_[static_cast<Offset>(j)] * one;
    for (std::size_t i = 0; i < width_; ++i) product += m_[j * width_ + i] * solution_[i];
    objective += one * (product - 2.0 * b_[j]);
  }
  if (!std::isfinite(objective)) {
    pivot = 0;
    return objective;
  }
  std::ranges::transform(solution_, z, [](double x) { return static_cast<float>(x); });
  return objective;
}

double AlsSystemSolver::solve_nonnegative(double constant, float* z, Index& pivot) {
  factored_ = m_;
  const std::vector<double>& gram = context_.basis.gram;
  for (std::size_t at = 0; at < gram.size(); ++at) factored_[at] += gram[at];
  for (std::size_t j = 0; j < width_; ++j) {
    factored_[j * width_ + j] += diagonal_[static_cast<Offset>(j)];
    solution_[j] = z[j];
  }
  pivot = bounded_.solve(factored_, b_, solution_);
  if (pivot >= 0) return 0.0;
  const double objective = constant + bounded_.objective(factored_, b_, solution_);
  if (!std::isfinite(objective)) pivot = 0;
  std::ranges::transform(solution_, z, [](double x) { return static_cast<float>(x); });
  return objective;
}

double AlsSystemSolver::add_product(const float* x, double scale, float* out) const {
  double square = 0.0;
  for (std::size_t j = 0; j < width_; ++j) {
    double product = 0.0;
    for (std::size_t i = 0; i < width_; ++i) product += m_[j * width_ + i] * double{x[i]};
    out[j] += static_cast<float>(scale * product);
    square += x[j] * product;
  }
  return square;
}

double AlsSystemSolver::solve_cg(double constant, const CgLimits& limits, float* z, Index& pivot) {
  ConjugateGradients cg({diagonal_.data(), inverse_.data(), z, r_.data(), p_.data(),
                         product_.data(), context_.stride()},
                        limits);
  cg.begin();
  // r += b - M z
  kernels::StartSums sums;
  sums.wqq = add_product(z, -1.0, r_.data());
  for (std::size_t j = 0; j < width_; ++j) {
    r_[static_cast<Offset>(j)] += static_cast<float>(b_[j]);
    sums.vq += b_[j] * z[j];
  }
  cg.start(sums, constant);
  while (!cg.done()) {
    cg.before_product();
    cg.after_product(add_product(p_.data(), 1.0, product_.data()));
  }
  if (!cg.positive()) pivot = 0;
  return cg.objective();
}

AlsSummedRow::AlsSummedRow(const AlsRowContext& context)
    : sum_(context),
      solver_(context),
      system_(static_cast<std::size_t>(system_numbers(context.table.cols))) {}

double AlsSummedRow::solve(std::span<const Index> columns, std::span<const float> values, float* z,
                           Index& pivot) {
  sum_.sum(columns, values, system_);
  return solver_.solve(system_, values, z, pivot);
}

}  // namespace likewise
