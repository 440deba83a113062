// SPDX-License-Identifier: Apache-2.0
/// Training on every device: checkpoints, cancelling, threads, and systems that cannot be solved.
#include <algorithm>
#include <array>
#include <atomic>
#include <cmath>
#include <numeric>
#include <thread>
#include <tuple>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/control.h"
#include "likewise/device.h"
#include "likewise/model.h"
#include "likewise/synthetic.h"
#include "model/checkpoint.h"
#include "tests/backends/device_test.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"
#include "tests/csr_entries.h"
#include "tests/errors.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::Entry;
using test::make_csr;

using test::AlsStrategy;
using testing::HasSubstr;

class AlsTraining : public test::DeviceTest<AlsStrategy> {
 protected:
  [[nodiscard]] static const AlsStrategy& strategy() { return GetParam(); }
  [[nodiscard]] static AlsParams params(Feedback feedback, int factors) {
    return strategy().applied_to(test::small_als(feedback, factors));
  }
  [[nodiscard]] static std::unique_ptr<AlsSolver> make_solver(const CsrMatrix& m,
                                                              const AlsParams& params) {
    return job<AlsJob>(device()).make_solver(m.view(), params,
                                             test::first_factors(m.view(), params));
  }
};

TEST_P(AlsTraining, ValidationSeesTheFactorsOfItsIteration) {
  const CsrMatrix m = test::awkward_matrix(200, 90, true, 21);
  AlsParams wanted = params(Feedback::kImplicit, 12);
  wanted.iterations = 6;
  std::vector<Factors> seen;
  IterationRun run;
  run.validation = {"made up", true, [&](const Factors& factors) {
                      seen.push_back(factors.clone());
                      return seen.size() == 4 ? 1.0 : 0.0;
                    }};
  const IterationResult result = train_als(m.view(), wanted, device(), run);
  EXPECT_EQ(result.best_iteration, 4);
  ASSERT_EQ(seen.size(), 6U);
  EXPECT_TRUE(test::same_factors(result.factors, seen[3]));
  const double unit = test::als_objective_of_nothing(m.view(), seen[0], wanted);
  for (std::size_t i = 0; i < seen.size(); ++i) {
    EXPECT_NEAR(result.iterations[i].objective, test::als_objective(m.view(), seen[i], wanted),
                strategy().tolerance.reported * unit);
  }
}

/// From a file written after an odd number of iterations, when starts move, and bit-identical.
TEST_P(AlsTraining, GoesOnFromACheckpointAsWithoutTheBreak) {
  const test::TemporaryFolder folder;
  for (const Feedback feedback : {Feedback::kImplicit, Feedback::kExplicit}) {
    for (const int factors : {12, 16, 65, 200}) {  // auto: the last is too large to be exact
      SCOPED_TRACE(fmt::format("{}, {} factors",
                               feedback == Feedback::kExplicit ? "explicit" : "implicit", factors));
      Interactions data = generate(parse_shape("300x80x6000"), 5);
      AlsParams wanted = params(feedback, factors);
      wanted.iterations = 7;
      Model model;
      model.params = wanted;
      model.users = std::move(data.users);
      model.items = std::move(data.items);
      model.history = std::move(data.by_user);
      IterationRun run;
      run.on_iteration = [&](const TrainingState& now) {
        if (now.iterations.size() == 5) save_checkpoint(model, now, folder / "state");
      };
      const IterationResult whole = train_als(model.history.view(), wanted, device(), run);

      const Model state = load_model(folder / "state");
      IterationRun rest;
      resume_from(state, rest);
      const IterationResult resumed = train_als(model.history.view(), wanted, device(), rest);
      EXPECT_TRUE(test::same_factors(resumed.factors, whole.factors));
      ASSERT_EQ(resumed.iterations.size(), 7U);
      EXPECT_EQ(resumed.iterations.back().objective, whole.iterations.back().objective);
    }
  }
}

TEST_P(AlsTraining, CanBeCancelled) {
  const CsrMatrix m = test::awkward_matrix(200, 90, true, 21);
  const AlsParams wanted = params(Feedback::kImplicit, 12);
  std::atomic<bool> cancel{true};
  RunControl control;
  control.cancel = &cancel;
  const auto solver = make_solver(m, wanted);
  (void)test::error_of(ErrorKind::kCancelled, [&] { (void)solver->solve(Side::kUsers, control); });

  cancel = false;
  IterationRun run;
  run.control.cancel = &cancel;
  run.on_iteration = [&](const TrainingState& state) {
    cancel = state.iterations.back().iteration == 2;
  };
  (void)test::error_of(ErrorKind::kCancelled,
                       [&] { (void)train_als(m.view(), wanted, device(), run); });
  EXPECT_NO_THROW((void)train_als(m.view(), wanted, device()));
}

/// On data with structure what `auto` leaves, and what a GPU rounds, does not show: 1e-4 on a
/// GPU, whatever the iteration. (The processor's auto is a little behind while the objective
/// falls.)
TEST_P(AlsTraining, EveryIterationKeepsTheExactObjective) {
  const Interactions data = generate(parse_shape("1000x300x40k"), 5);
  const CsrView m = data.by_user.view();
  for (const auto& [name, feedback, alpha] : {std::tuple{"implicit", Feedback::kImplicit, 1.0},
                                              {"alpha 40", Feedback::kImplicit, 40.0},
                                              {"explicit", Feedback::kExplicit, 1.0}}) {
    AlsParams wanted = AlsParams::defaults(feedback);
    wanted.factors = 16;
    wanted.alpha = alpha;
    wanted.iterations = 10;
    wanted.solver = AlsSolverKind::kCholesky;
    const IterationResult exact = train_als(m, wanted, open_device("cpu"));
    IterationRun run;
    run.on_iteration = [&, &label = name](const TrainingState& state) {
      const Iteration& now = state.iterations.back();
      const double want = exact.iterations[static_cast<std::size_t>(now.iteration) - 1].objective;
      EXPECT_NEAR(test::als_objective(m, state.factors(), wanted), want,
                  (on_gpu() ? 1e-4 : 5e-4) * want)
          << label << ", iteration " << now.iteration;
    };
    (void)train_als(m, strategy().applied_to(wanted), device(), run);
  }
}

/// A solver may be made, used and let go in different threads, and others may run beside it.
TEST_P(AlsTraining, ThreadsDoNotMatter) {
  const CsrMatrix m = test::awkward_matrix(300, 120, true, 23);
  const AlsParams wanted = params(Feedback::kImplicit, 20);
  const auto alone = make_solver(m, wanted);
  const double users = alone->solve(Side::kUsers, {});
  const double items = alone->solve(Side::kItems, {});
  std::array<std::unique_ptr<AlsSolver>, 3> solvers;
  std::vector<std::thread> threads;
  for (auto& solver : solvers) {
    solver = make_solver(m, wanted);
    threads.emplace_back([&solver, users, items] {
      EXPECT_EQ(solver->solve(Side::kUsers, {}), users);
      EXPECT_EQ(solver->solve(Side::kItems, {}), items);
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (auto& solver : solvers) {
    EXPECT_TRUE(test::same_factors(solver->factors(), alone->factors()));
  }
}

/// Few steps of CG are the better the more they are; enough of them are the exact solution.
TEST_P(AlsTraining, MoreStepsOfCgComeCloserToTheExactSolution) {
  AlsParams wanted = params(Feedback::kImplicit, 12);
  wanted.alpha = 10.0;
  const CsrMatrix m = test::awkward_matrix(120, 80, false, 11);
  const Factors start = test::trained_factors(m.view(), wanted);
  const auto objective_of = [&](const Device& solved_by) {
    const auto solver = job<AlsJob>(solved_by).make_solver(m.view(), wanted, start.clone());
    (void)solver->solve(Side::kUsers, {});
    return test::als_objective(m.view(), solver->factors(), wanted);
  };
  wanted.precision = Precision::kAuto;
  const double minimum = objective_of(open_device("reference"));
  wanted.precision = strategy().precision;
  wanted.solver = AlsSolverKind::kCg;
  double before = 1e300;
  for (const int steps : {1, 2, 4, 30}) {
    wanted.cg_steps = steps;
    const double now = objective_of(device());
    EXPECT_LT(now, before) << steps << " steps";
    EXPECT_GT(now, minimum * (1 - 1e-7)) << steps << " steps";
    before = now;
  }
  const double unit = test::als_objective_of_nothing(m.view(), start, wanted);
  EXPECT_NEAR(before, minimum, strategy().tolerance.objective * unit);
  wanted.cg_tolerance = 0.5;
  EXPECT_GT(objective_of(device()), before);
}

/// `steps` plain steps of conjugate gradients (Hestenes, Stiefel 1952) for one user, in double
/// precision and in the coordinates of the factors themselves.
std::vector<double> plain_steps(const CsrView& by_user, const Factors& start,
                                const AlsParams& params, Index user) {
  const auto f = static_cast<std::size_t>(start.items.cols());
  const std::span<const Index> columns = by_user.row_columns(user);
  const auto times = [&](const std::vector<double>& x) {
    std::vector<double> product(f);
    for (std::size_t j = 0; j < f; ++j) product[j] = params.regularization * x[j];
    for (Index item = 0; item < start.items.rows(); ++item) {
      const float* y = start.items.row(item);
      const auto at = std::ranges::find(columns, item) - columns.begin();
      const bool observed = at < std::ssize(columns);
      const double c =
          observed ? 1.0 + params.alpha *
                               std::abs(by_user.row_values(user)[static_cast<std::size_t>(at)])
                   : 1.0;
      const double part = c * std::inner_product(x.begin(), x.end(), y, 0.0);
      for (std::size_t j = 0; j < f; ++j) product[j] += part * y[j];
    }
    return product;
  };
  const auto square = [](const std::vector<double>& x) {
    return std::inner_product(x.begin(), x.end(), x.begin(), 0.0);
  };
  std::vector<double> x(start.users.row(user), start.users.row(user) + f);
  std::vector<double> r = times(x);
  for (double& one : r) one = -one;
  for (std::size_t at = 0; at < columns.size(); ++at) {
    const double value = by_user.row_values(user)[at];
    if (value <= 0.0) continue;
    for (std::size_t j = 0; j < f; ++j) {
      r[j] += (1.0 + params.alpha * value) * start.items.row(columns[at])[j];
    }
  }
  std::vector<double> p = r;
  for (int step = 0; step < params.cg_steps; ++step) {
    const std::vector<double> product = times(p);
    const double rho = square(r);
    const double alpha = rho / std::inner_product(p.begin(), p.end(), product.begin(), 0.0);
    for (std::size_t j = 0; j < f; ++j) {
      x[j] += alpha * p[j];
      r[j] -= alpha * product[j];
    }
    for (std::size_t j = 0; j < f; ++j) p[j] = r[j] + square(r) / rho * p[j];
  }
  return x;
}

/// From the start that it was given, and step by step: what other programs compute. Of this matrix
/// the steps hardly depend on rounding: in float32 the textbook's are off by 3e-6, of others
/// by 1.5e-5.
TEST_P(AlsTraining, WithoutAPreconditionerStepsAreTheTextbooks) {
  AlsParams wanted = params(Feedback::kImplicit, 12);
  wanted.alpha = 10.0;
  wanted.regularization = 0.1;
  wanted.precision = strategy().precision;
  wanted.solver = AlsSolverKind::kCg;
  wanted.cg_preconditioner = Preconditioner::kNone;
  const CsrMatrix m = test::awkward_matrix(120, 80, false, 12);
  const Factors start = test::trained_factors(m.view(), wanted);
  for (const int steps : {1, 2, 3}) {
    SCOPED_TRACE(fmt::format("{} steps", steps));
    wanted.cg_steps = steps;
    const auto solver = job<AlsJob>(device()).make_solver(m.view(), wanted, start.clone());
    (void)solver->solve(Side::kUsers, {});
    const Factors& found = solver->factors();
    for (Index user = 0; user < m.rows; ++user) {
      if (m.view().row_columns(user).empty()) continue;
      const std::vector<double> textbook = plain_steps(m.view(), start, wanted, user);
      for (std::size_t j = 0; j < textbook.size(); ++j) {
        ASSERT_NEAR(found.users.row(user)[j], textbook[j], strategy().tolerance.factors)
            << "user " << user;
      }
    }
  }
}

/// The Gram matrix of the fixed side has no full rank then, and this lambda is below its rounding.
TEST_P(AlsTraining, FewerFixedRowsThanFactors) {
  for (const int factors : {100, 150}) {
    SCOPED_TRACE(fmt::format("{} factors", factors));
    AlsParams wanted = params(Feedback::kImplicit, factors);
    wanted.regularization = 1e-7;
    AlsParams plain = wanted;
    plain.precision = Precision::kAuto;
    const CsrMatrix m = test::awkward_matrix(90, 60, false, 15);
    const Factors start = test::first_factors(m.view(), wanted);
    const double unit = test::als_objective_of_nothing(m.view(), start, wanted);
    for (const Side side : {Side::kUsers, Side::kItems}) {
      const auto exact =
          job<AlsJob>(open_device("reference")).make_solver(m.view(), plain, start.clone());
      (void)exact->solve(side, {});
      const double minimum = test::als_objective(m.view(), exact->factors(), wanted);
      const auto solver = make_solver(m, wanted);
      const double reported = solver->solve(side, {});
      const double objective = test::als_objective(m.view(), solver->factors(), wanted);
      EXPECT_NEAR(objective, minimum, (strategy().tolerance.objective + 1e-7) * unit);
      EXPECT_NEAR(reported, objective, strategy().tolerance.reported * unit);
    }
  }
}

/// The strategies that factor every row's matrix.
class AlsByCholesky : public AlsTraining {};

/// One user has only items whose factors are zero, and there is no regularization.
TEST_P(AlsByCholesky, TheRowThatHasNoSolutionIsNamed) {
  AlsParams wanted = params(Feedback::kExplicit, 3);
  wanted.regularization = 0.0;
  wanted.biases = false;
  std::vector<Entry> entries;
  for (Index u = 0; u < 12; ++u) {
    for (Index i = 0; i < 9; ++i) {
      if ((u == 7) == (i < 2)) entries.push_back({u, i, 1.0F + static_cast<float>((u + i) % 5)});
    }
  }
  const CsrMatrix m = make_csr(12, 9, entries);
  for (const Side side : {Side::kUsers, Side::kItems}) {
    const CsrMatrix matrix = side == Side::kUsers ? m.clone() : transpose(m.view());
    Factors start = test::first_factors(matrix.view(), wanted);
    for (const Index empty : {0, 1}) {
      for (float& x : start.side(other(side)).row_span(empty)) x = 0.0F;
    }
    const auto solver = job<AlsJob>(device()).make_solver(matrix.view(), wanted, std::move(start));
    EXPECT_THAT(test::error_of(ErrorKind::kNumerical, [&] { (void)solver->solve(side, {}); }),
                testing::AllOf(HasSubstr(side == Side::kUsers ? "user row 7" : "item row 7"),
                               HasSubstr("(2 interactions)"), HasSubstr("larger regularization")));
  }
}

TEST_P(AlsByCholesky, SingularSystemsAreNoticed) {
  AlsParams wanted = params(Feedback::kExplicit, 8);
  wanted.regularization = 0.0;
  const CsrMatrix m = test::awkward_matrix(20, 15, false, 1);
  EXPECT_THAT(
      test::error_of(ErrorKind::kNumerical, [&] { (void)train_als(m.view(), wanted, device()); }),
      HasSubstr("larger regularization"));
}

/// The others may find one of many solutions; never a NaN.
TEST_P(AlsTraining, SingularSystemsGiveNumbersOrAnError) {
  AlsParams wanted = params(Feedback::kExplicit, 8);
  wanted.regularization = 0.0;
  const CsrMatrix m = test::awkward_matrix(20, 15, false, 1);
  try {
    const IterationResult result = train_als(m.view(), wanted, device());
    EXPECT_TRUE(std::isfinite(test::als_objective(m.view(), result.factors, wanted)));
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kNumerical) << error.what();
  }
}

/// Huge values overflow float32 (train_als() refuses them): an error, never a NaN in the factors.
TEST_P(AlsTraining, OverflowIsNoticed) {
  AlsParams wanted = params(Feedback::kImplicit, 4);
  wanted.alpha = 1e15;
  const std::array<Entry, 3> entries{Entry{0, 0, 1e30F}, {1, 0, 1.0F}, {1, 1, 2.0F}};
  const CsrMatrix m = make_csr(2, 2, entries);
  (void)test::error_of(ErrorKind::kNumerical, [&] {
    Factors start{
        draw_factors(Side::kUsers, 2, wanted), draw_factors(Side::kItems, 2, wanted), {}, {}, 0.0F};
    const auto solver = job<AlsJob>(device()).make_solver(m.view(), wanted, std::move(start));
    for (const Side side : {Side::kUsers, Side::kItems}) (void)solver->solve(side, {});
  });
}

/// What users get by default, and the most exact of each solver.
[[nodiscard]] std::vector<AlsStrategy> three_strategies(const std::string& device) {
  const std::vector<AlsStrategy> strategies = test::als_strategies(device);
  const auto first = [&](AlsSolverKind solver) {
    return *std::ranges::find(strategies, solver, &AlsStrategy::solver);
  };
  return {strategies.front(), first(AlsSolverKind::kCholesky), first(AlsSolverKind::kCg)};
}

[[nodiscard]] std::vector<AlsStrategy> by_cholesky(const std::string& device) {
  std::vector<AlsStrategy> strategies = test::als_strategies(device);
  std::erase_if(strategies,
                [](const AlsStrategy& one) { return one.solver != AlsSolverKind::kCholesky; });
  return strategies;
}

[[nodiscard]] std::string strategy_name(const testing::TestParamInfo<AlsStrategy>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Cpu, AlsTraining, testing::ValuesIn(three_strategies("cpu")),
                         strategy_name);
INSTANTIATE_TEST_SUITE_P(Cuda, AlsTraining, testing::ValuesIn(three_strategies("cuda")),
                         strategy_name);
INSTANTIATE_TEST_SUITE_P(Cpu, AlsByCholesky, testing::ValuesIn(by_cholesky("cpu")), strategy_name);
INSTANTIATE_TEST_SUITE_P(Cuda, AlsByCholesky, testing::ValuesIn(by_cholesky("cuda")),
                         strategy_name);

class AlsThreads : public testing::TestWithParam<test::AlsCases> {};

TEST_P(AlsThreads, TheirNumberDoesNotChangeTheResult) {
  const auto device = open_device("cpu");
  for (const auto& [name, params] : GetParam().cases) {
    SCOPED_TRACE(name);
    const bool dislikes = params.feedback == Feedback::kImplicit;
    const CsrMatrix m = test::awkward_matrix(700, 150, dislikes, 9);
    IterationResult one;
    with_threads(1, [&, &wanted = params] { one = train_als(m.view(), wanted, device); });
    for (const int threads : {2, 5}) {
      with_threads(threads, [&, &wanted = params] {
        const IterationResult many = train_als(m.view(), wanted, device);
        EXPECT_TRUE(test::same_factors(many.factors, one.factors));
        EXPECT_EQ(many.iterations.back().objective, one.iterations.back().objective);
      });
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Cpu, AlsThreads, testing::ValuesIn(test::als_cases(48)),
                         [](const auto& test) { return test.param.name; });

}  // namespace
}  // namespace likewise
