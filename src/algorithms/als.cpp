// SPDX-License-Identifier: Apache-2.0
#include "likewise/als.h"

#include <chrono>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "algorithms/first_factors.h"

namespace likewise {
namespace {

[[noreturn]] void refuse(const char* field, const std::string& value, const char* range) {
  throw Error(ErrorKind::kInvalidArgument,
              fmt::format("{} must be {}, not {}", field, range, value));
}

template <class Number>
void check_range(const char* field, Number value, Number low, Number high, const char* range) {
  if (!(value >= low && value <= high)) refuse(field, fmt::format("{}", value), range);
}

constexpr double kHuge = std::numeric_limits<double>::max();
constexpr double kTiny = std::numeric_limits<double>::min();

void check_start(const Factors& start, const CsrView& by_user, const AlsParams& params) {
  const bool fits = start.users.rows() == by_user.rows && start.items.rows() == by_user.cols &&
                    start.users.cols() == params.factors && start.items.cols() == params.factors &&
                    start.user_bias.empty() != has_biases(params);
  if (fits || (by_user.rows == 0 && start.items.rows() == by_user.cols)) return;
  throw Error(
      ErrorKind::kInvalidArgument,
      fmt::format("the factors to start from are {} x {} and {} x {}{}; this matrix and these "
                  "parameters need {} x {} and {} x {}{}",
                  start.users.rows(), start.users.cols(), start.items.rows(), start.items.cols(),
                  start.user_bias.empty() ? "" : " with biases", by_user.rows, params.factors,
                  by_user.cols, params.factors, has_biases(params) ? " with biases" : ""));
}

/// Keeps the best iteration's factors when a validation metric is asked for.
class BestIteration {
 public:
  BestIteration(const Validation& validation, const std::vector<AlsIteration>& history)
      : higher_is_better_(validation.higher_is_better) {
    for (const AlsIteration& past : history) {
      if (past.validation && better(*past.validation)) {
        value_ = *past.validation;
        iteration_ = past.iteration;
      }
    }
  }

  void consider(const AlsIteration& now, const FetchFactors& factors) {
    if (!now.validation || !better(*now.validation)) return;
    value_ = *now.validation;
    iteration_ = now.iteration;
    factors_ = factors().clone();
    kept_ = true;
  }

  [[nodiscard]] int iteration() const { return iteration_; }
  [[nodiscard]] bool kept() const { return kept_; }
  [[nodiscard]] Factors take() { return std::move(factors_); }

 private:
  [[nodiscard]] bool better(double value) const {
    if (std::isnan(value_)) return true;
    return higher_is_better_ ? value > value_ : value < value_;
  }

  bool higher_is_better_;
  double value_ = std::numeric_limits<double>::quiet_NaN();
  int iteration_ = 0;
  bool kept_ = false;
  Factors factors_;
};

/// Both half-steps, their time and objective.
[[nodiscard]] AlsIteration run_iteration(AlsSolver& solver, int number, const RunControl& control) {
  const auto begin = std::chrono::steady_clock::now();
  solver.solve(Side::kUsers, control);
  AlsIteration report;
  report.iteration = number;
  report.objective = solver.solve(Side::kItems, control);
  report.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (!std::isfinite(report.objective)) {
    throw Error(ErrorKind::kNumerical,
                fmt::format("ALS: the objective of iteration {} is not finite: use a larger "
                            "regularization or smaller values",
                            number));
  }
  return report;
}

/// Asks the solver at the first call only, and never where nobody looks.
[[nodiscard]] FetchFactors fetch_once(AlsSolver& solver) {
  return [&solver, fetched = static_cast<const Factors*>(nullptr)]() mutable -> const Factors& {
    if (fetched == nullptr) fetched = &solver.factors();
    return *fetched;
  };
}

/// Why to stop after the last of `iterations`; empty to go on.
[[nodiscard]] std::string stop_reason(const std::vector<AlsIteration>& iterations,
                                      const AlsParams& params, int best_iteration) {
  const AlsIteration& now = iterations.back();
  if (params.patience > 0 && now.validation && now.iteration - best_iteration >= params.patience) {
    return "patience";
  }
  if (params.tolerance > 0.0 && iterations.size() > 1) {
    const double before = iterations[iterations.size() - 2].objective;
    if (before - now.objective < params.tolerance * std::abs(before)) return "tolerance";
  }
  return {};
}

}  // namespace

AlsParams AlsParams::defaults(Feedback feedback) {
  AlsParams params;
  params.feedback = feedback;
  if (feedback == Feedback::kExplicit) {
    params.regularization = 0.1;
    params.regularization_exponent = 1.0;
  }
  return params;
}

void AlsParams::validate() const {
  check_range("factors", factors, 1, 4096, "in [1, 4096]");
  check_range("iterations", iterations, 0, 1'000'000, "in [0, 1000000]");
  check_range("regularization", regularization, 0.0, kHuge, "a finite number >= 0");
  check_range("regularization_exponent", regularization_exponent, 0.0, 1.0, "in [0, 1]");
  check_range("alpha", alpha, kTiny, kHuge, "a finite number > 0");
  check_range("epsilon", epsilon, kTiny, kHuge, "a finite number > 0");
  check_range("unobserved_weight", unobserved_weight.value_or(1.0), kTiny, kHuge,
              "a finite number > 0");
  check_range("init_stddev", init_stddev, kTiny, kHuge, "a finite number > 0");
  check_range("cg_steps", cg_steps, 1, 1000, "in [1, 1000]");
  check_range("cg_tolerance", cg_tolerance, 0.0, 1.0, "in [0, 1]");
  check_range("tolerance", tolerance, 0.0, 1.0, "in [0, 1]");
  check_range("patience", patience, 0, 1'000'000, "in [0, 1000000]");
  if (feedback == Feedback::kExplicit && unobserved_weight) {
    refuse("unobserved_weight", fmt::format("{}", *unobserved_weight),
           "left out with explicit feedback");
  }
}

AlsResult train_als(const CsrView& by_user, const AlsParams& params, const Backend& backend,
                    const AlsRun& run) {
  params.validate();
  const MemoryPlan plan = backend.plan_als({by_user.rows, by_user.cols, by_user.nnz()}, params);
  if (run.on_plan) run.on_plan(plan);
  std::unique_ptr<AlsSolver> solver;
  if (run.start != nullptr) {
    check_start(*run.start, by_user, params);
    solver = backend.make_als_solver(by_user, params, run.start->clone(), run.completed_iterations);
  } else {
    solver = backend.make_als_solver(by_user, params, first_factors(by_user, params));
  }

  AlsResult result{{}, run.history, 0, "iterations"};
  BestIteration best(run.validation, run.history);
  for (int i = run.completed_iterations + 1; i <= params.iterations; ++i) {
    run.control.report("train", i - 1, params.iterations, "iterations");
    AlsIteration now = run_iteration(*solver, i, run.control);
    const FetchFactors factors = fetch_once(*solver);
    if (run.validation.evaluate) now.validation = run.validation.evaluate(factors());
    result.iterations.push_back(now);
    best.consider(now, factors);
    if (run.on_iteration) run.on_iteration(now, factors);
    const std::string reason = stop_reason(result.iterations, params, best.iteration());
    if (reason.empty()) continue;
    result.stop_reason = reason;
    break;
  }
  run.control.report("train", params.iterations, params.iterations, "iterations");

  const int last =
      result.iterations.empty() ? run.completed_iterations : result.iterations.back().iteration;
  result.best_iteration = best.kept() ? best.iteration() : last;
  result.factors = best.kept() ? best.take() : solver->take_factors();
  return result;
}

}  // namespace likewise
