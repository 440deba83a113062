// SPDX-License-Identifier: Apache-2.0
/// Models that grow by steps of SGD over the new ratings: those of SGD, and explicit ones of ALS.
#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/format.h>

#include "algorithms/als/first_factors.h"
#include "algorithms/finite.h"
#include "algorithms/sgd/setup.h"
#include "algorithms/sgd/sgd.h"
#include "backends/jobs/device_jobs.h"
#include "core/linalg/exact_dot.h"
#include "core/system/parallel.h"
#include "training/growth.h"

namespace likewise {
namespace {

/// Chosen, as the usual numbers of epochs, on parts of ml-1m (growing.md).
constexpr double kRateAfterAls = 0.05;

/// The iterations that led to the model's factors.
[[nodiscard]] std::span<const Iteration> iterations_to_best(const Model& model) {
  const auto end =
      std::ranges::upper_bound(model.iterations, model.best_iteration, {}, &Iteration::iteration);
  return {model.iterations.begin(), end};
}

[[nodiscard]] std::vector<Offset> counts_of(const UpdateTask& task, Side side) {
  const std::vector<Offset> all = entry_counts(task.growth.history.view(), side);
  std::vector<Offset> counts;
  for (const Index row : task.growth.touched(side)) {
    counts.push_back(all[static_cast<std::size_t>(row)]);
  }
  return counts;
}

/// Sums of squares that a model may hold: rows whose sum is the largest move no more.
void bound_squares(Factors& factors) {
  for (const Side side : {Side::kUsers, Side::kItems}) {
    for (float& sum : factors.squares(side).span()) sum = std::min(sum, kLargestNumber);
  }
}

/// Steps over the new ratings, for the touched rows of `factors`.
void take_steps(const UpdateTask& task, const SgdParams& params, double rate, double spread,
                Factors& factors) {
  const Growth& growth = task.growth;
  const CsrMatrix ratings = new_cells(task, growth.touched_items);
  const SgdShape shape{ratings.rows, ratings.cols, ratings.nnz()};
  const MemoryPlan plan = job<SgdJob>(task.device).plan(shape, params);
  if (task.options.on_plan) task.options.on_plan(plan);
  const std::vector<Offset> user_counts = counts_of(task, Side::kUsers);
  const std::vector<Offset> item_counts = counts_of(task, Side::kItems);
  const SgdWhole whole{user_counts, item_counts, spread, true};
  Factors start = side_rows(factors, Side::kUsers, growth.touched_users);
  Factors items = side_rows(factors, Side::kItems, growth.touched_items);
  start.items = std::move(items.items);
  start.item_bias = std::move(items.item_bias);
  start.item_squares = std::move(items.item_squares);
  const double before = objective_of(ratings.view(), params, start, whole) +
                        static_cast<double>(ratings.nnz()) * spread * spread;
  const auto solver =
      job<SgdJob>(task.device).make_solver(ratings.view(), params, std::move(start), whole);
  for (int epoch = 1; epoch <= task.iterations; ++epoch) {
    task.control.report("update", epoch - 1, task.iterations, "epochs");
    const double objective = solver->epoch(epoch, rate, task.control);
    require_no_divergence(objective, before, fmt::format("epoch {} of the update", epoch), rate);
  }
  task.control.report("update", task.iterations, task.iterations, "epochs");
  const Factors& moved = solver->factors();
  put_rows(moved, Side::kUsers, growth.touched_users, factors);
  put_rows(moved, Side::kItems, growth.touched_items, factors);
  bound_squares(factors);
}

void draw_new_rows(const UpdateTask& task, const SgdParams& params, double spread,
                   Factors& factors) {
  const double stddev = params.init_stddev * std::sqrt(spread / params.factors);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const auto stream = side == Side::kUsers ? kStreamUserFactors : kStreamItemFactors;
    for (const Index row : new_rows(task, side)) {
      draw_row(factors.side(side).row_span(row), stddev, params.seed, stream, row);
      if (params.nonnegative) take_sizes(factors.side(side).row_span(row));
    }
  }
}

/// The sums of squares of the touched rows of a side, which ALS has not kept: what the epochs of a
/// training by SGD over the model's own ratings would have added, were the factors always what they
/// are now. `ratings` are those, with a row for each of the model's, and `factors` what it becomes.
/// A gradient is e y - d x, of the error e, the other row y and the decay d: its square needs x . y
/// alone, |x|^2 and |y|^2 being known.
void set_squares(const UpdateTask& task, const SgdParams& params, double spread, Side side,
                 const CsrView& ratings, Factors& factors) {
  const Factors& old = *task.model.factors();
  const MatrixView own_side = old.side(side).view();
  const MatrixView others = old.side(other(side)).view();
  std::vector<double> other_squares(static_cast<std::size_t>(others.rows));
  parallel_for(others.rows, 256, [&](Offset row) {
    other_squares[static_cast<std::size_t>(row)] =
        kernels::exact_square(others, static_cast<Index>(row));
  });
  const std::vector<Offset> counts = counts_of(task, side);
  const std::vector<Index>& touched = task.growth.touched(side);
  const UnionOfIds& ids = task.growth.ids(side);
  const std::vector<Index> origins = origins_of(ids.first, ids.ids.size());
  const double scale = params.iterations * step_scales(spread, params.factors).square;
  parallel_for(std::ssize(touched), 16, [&](Offset at) {
    const Index to = touched[static_cast<std::size_t>(at)];
    const Index row = origins[static_cast<std::size_t>(to)];
    if (row < 0) return;
    const double decay = rating_decay(params.regularization, params.regularization_exponent,
                                      counts[static_cast<std::size_t>(at)]);
    const auto columns = ratings.row_columns(row);
    const auto values = ratings.row_values(row);
    double own = old.global_mean;
    if (params.biases) own += double{old.bias(side)[row]};
    double squares =
        static_cast<double>(columns.size()) * decay * decay * kernels::exact_square(own_side, row);
    kernels::for_exact_dots(own_side.row(row), others, columns, [&](std::size_t e, double product) {
      double score = own + product;
      if (params.biases) score += double{old.bias(other(side))[columns[e]]};
      const double error = values[e] - score;
      const double other_square = other_squares[static_cast<std::size_t>(columns[e])];
      squares += error * (error * other_square - 2.0 * decay * product);
    });
    factors.squares(side)[to] = static_cast<float>(scale * std::max(0.0, squares));
  });
}

[[nodiscard]] Refined refined(const UpdateTask& task, Factors factors) {
  return {std::move(factors), static_cast<Index>(task.growth.touched_users.size()),
          static_cast<Index>(task.growth.touched_items.size())};
}

}  // namespace

SgdParams sgd_params_of(const AlsParams& params) {
  SgdParams steps;
  steps.factors = params.factors;
  steps.regularization = params.regularization;
  steps.regularization_exponent = params.regularization_exponent;
  steps.biases = params.biases;
  steps.nonnegative = params.nonnegative;
  steps.init_stddev = params.init_stddev;
  steps.learning_rate = kRateAfterAls;
  steps.seed = params.seed;
  return steps;
}

Refined update_sgd(const SgdParams& params, const UpdateTask& task) {
  check_values(task.growth.history.view(), params);
  const double spread = trained_spread(task, params);
  Factors factors = placed_factors(task, params.biases, params.biases);
  for (const Side side : {Side::kUsers, Side::kItems}) {  // a model of nothing has none
    const bool none = is_adaptive(params) && factors.squares(side).empty();
    if (none) factors.squares(side) = Array<float>(factors.side(side).rows());
  }
  draw_new_rows(task, params, spread, factors);
  const double rate =
      task.options.learning_rate.value_or(epoch_rate(params, iterations_to_best(task.model)));
  take_steps(task, params, rate, spread, factors);
  return refined(task, std::move(factors));
}

Refined update_als_by_sgd(const AlsParams& params, const UpdateTask& task) {
  const SgdParams steps = sgd_params_of(params);
  check_values(task.growth.history.view(), steps);
  const double spread = trained_spread(task, steps);
  Factors factors = placed_factors(task, has_biases(params), has_biases(params));
  factors.user_squares = Array<float>(factors.users.rows());
  factors.item_squares = Array<float>(factors.items.rows());
  const CsrView ratings = task.model.history.view();
  set_squares(task, steps, spread, Side::kUsers, ratings, factors);
  set_squares(task, steps, spread, Side::kItems, transpose(ratings).view(), factors);
  draw_new_rows(task, steps, spread, factors);
  take_steps(task, steps, task.options.learning_rate.value_or(steps.learning_rate), spread,
             factors);
  factors.user_squares = {};
  factors.item_squares = {};
  return refined(task, std::move(factors));
}

}  // namespace likewise
