// SPDX-License-Identifier: Apache-2.0
/// Half-steps and iterations of ALS on every device: `reference` by calculus, the others by
/// comparison with it. The largest differences met are properties of each test in a report
/// (--gtest_output=xml).
#include "algorithms/als/als.h"

#include <algorithm>
#include <cmath>
#include <map>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/iteration_run.h"
#include "algorithms/rows_with_entries.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "tests/backends/device_test.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"
#include "tests/csr_entries.h"

namespace likewise {
namespace {

using test::make_csr;

using test::AlsCase;
using test::AlsCases;
using test::AlsStrategy;
using test::AlsTolerance;

[[nodiscard]] std::string cases_name(const testing::TestParamInfo<AlsCases>& test) {
  return test.param.name;
}

/// A matrix with dislikes where the feedback knows such.
[[nodiscard]] CsrMatrix matrix_for(const AlsParams& params, Index users, Index items,
                                   std::uint64_t seed) {
  return test::awkward_matrix(users, items, params.feedback == Feedback::kImplicit, seed);
}
/// One that a GPU takes: without confidences of 0.
[[nodiscard]] CsrMatrix gpu_matrix_for(const AlsParams& params, Index users, Index items,
                                       std::uint64_t seed) {
  CsrMatrix m = matrix_for(params, users, items, seed);
  if (params.confidence == Confidence::kGiven) {
    for (float& value : m.values) value = value == 0.0F ? 1.0F : value;
  }
  return m;
}

/// Without regularization a side of few rows leaves the other undetermined.
[[nodiscard]] bool is_determined(const CsrMatrix& m, const AlsParams& params) {
  return params.regularization > 0.0 || std::min(m.rows, m.cols) > 2 * params.factors;
}

class ReferenceAls : public testing::TestWithParam<AlsCases> {
 protected:
  /// A step aside, from the factors after an exact half-step, raises the objective: as much in both
  /// directions, up to the rounding of the float32 factors handed back, so that the gradient is 0
  /// beside a curvature of (rise + fall) / move^2.
  static void move_aside(const CsrMatrix& m, const AlsParams& params, const Factors& found,
                         Side side, Index row, Index column) {
    constexpr float kMove = 0.05F;
    const double minimum = test::als_objective(m.view(), found, params);
    Factors up = found.clone();
    Factors down = found.clone();
    up.side(side).row(row)[column] += kMove;
    down.side(side).row(row)[column] -= kMove;
    const double rise = test::als_objective(m.view(), up, params) - minimum;
    const double fall = test::als_objective(m.view(), down, params) - minimum;
    EXPECT_GT(rise, 0.0);
    EXPECT_GT(fall, 0.0);
    EXPECT_NEAR(rise, fall, 1e-3 * (rise + fall) + 1e-6 * minimum)
        << side_name(side) << " " << row << ", number " << column;
  }
};

TEST_P(ReferenceAls, GradientVanishesAfterAHalfStep) {
  for (const auto& [name, params] : GetParam().cases) {
    SCOPED_TRACE(name);
    const CsrMatrix m = matrix_for(params, 23, 17, 3);
    const auto device = open_device("reference");
    const Factors start = train_als(m.view(), params, device).factors;
    for (const Side side : test::kSides) {
      const auto solver = job<AlsJob>(device).make_solver(m.view(), params, start.clone());
      const double minimum = solver->solve(side, {});
      const Factors& found = solver->factors();
      ASSERT_NEAR(test::als_objective(m.view(), found, params), minimum, 1e-6 * minimum);
      EXPECT_LT(test::worst_gradient(m.view(), found, side, params), 1e-6);
      test::expect_zero_where_empty(m.view(), found, side);
      for (Index row = 0; row < found.side(side).rows(); row += 3) {
        for (Index j = 0; j < params.factors; j += 2) {
          const bool at_bound = params.nonnegative && found.side(side).row(row)[j] == 0.0F;
          if (!at_bound) move_aside(m, params, found, side, row, j);
        }
      }
    }
  }
}

[[nodiscard]] std::vector<AlsCases> with_given(std::vector<AlsCases> cases, bool below_one) {
  cases.push_back(test::given_cases(below_one));
  if (below_one) cases.push_back(test::likes_cases());
  cases.push_back(test::nonnegative_cases());
  return cases;
}

INSTANTIATE_TEST_SUITE_P(All, ReferenceAls,
                         testing::ValuesIn(with_given(test::als_cases(48), true)), cases_name);

/// The largest differences of each strategy.
class Largest {
 public:
  ~Largest() {
    for (const auto& [strategy, most] : by_strategy_) {
      testing::Test::RecordProperty(
          strategy,
          fmt::format("objective {:.1e}, reported {:.1e}, factors {:.1e}, gradient {:.1e}, "
                      "drift {:.1e}",
                      most.objective, most.reported, most.factors, most.gradient, most.drift));
    }
  }
  AlsTolerance& operator[](const AlsStrategy& strategy) { return by_strategy_[strategy.name]; }

 private:
  std::map<std::string, AlsTolerance> by_strategy_;
};

/// Notes a difference and holds it against what is allowed. NaN is too large.
void expect_small(double difference, double allowed, double& largest, const char* what) {
  largest = std::max(largest, difference);
  EXPECT_TRUE(difference <= allowed) << what << " off by " << difference << ", allowed " << allowed;
}

class AlsOnDevice : public test::DeviceTest<AlsCases> {
 protected:
  /// Calls test(strategy) for all strategies of the device. One that throws has failed; the others
  /// go on.
  template <class Test>
  static void for_each_strategy(const Test& test) {
    const AlsParams& first = GetParam().cases.front().params;
    const bool given = first.confidence == Confidence::kGiven;
    for (const AlsStrategy& strategy : test::als_strategies(device_name())) {
      SCOPED_TRACE(strategy.name);
      const bool halves = strategy.precision == Precision::kFp16;
      if (given && !on_gpu() && halves) continue;  // refused, as what follows
      if (!strategy.suits(first)) continue;
      try {
        test(strategy);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
  }
  [[nodiscard]] static CsrMatrix matrix_of(const AlsParams& params, Index users, Index items,
                                           std::uint64_t seed) {
    return (on_gpu() ? gpu_matrix_for : matrix_for)(params, users, items, seed);
  }
  [[nodiscard]] static std::unique_ptr<AlsSolver> make_solver(const CsrMatrix& m,
                                                              const AlsParams& params,
                                                              const AlsStrategy& strategy,
                                                              const Factors& start,
                                                              int completed = 0) {
    return job<AlsJob>(device()).make_solver(m.view(), strategy.applied_to(params), start.clone(),
                                             completed);
  }

  /// Whether to ask the reference for so many half-steps, which take f^3 a row: machines without a
  /// GPU also run this under sanitizers.
  [[nodiscard]] static bool is_affordable(const CsrMatrix& m, Side side, const AlsParams& params,
                                          int half_steps = 1) {
    return half_steps * test::reference_work(m.view(), side, params) < (on_gpu() ? 1.5e10 : 1e8);
  }

  /// Holds what a half-step found against the exact solution.
  static void compare(const CsrMatrix& m, const AlsParams& params, Side side,
                      const AlsStrategy& strategy, AlsSolver& solver, double reported,
                      const Factors& exact, AlsTolerance& largest) {
    const Factors& found = solver.factors();
    const double want = test::als_objective(m.view(), exact, params);
    const double got = test::als_objective(m.view(), found, params);
    const double unit = test::als_objective_of_nothing(m.view(), exact, params) + 1e-4;
    expect_small(std::abs(got - want) / unit, strategy.tolerance.objective, largest.objective,
                 "objective");
    expect_small(std::abs(reported - got) / unit, strategy.tolerance.reported, largest.reported,
                 "reported objective");
    expect_small(test::relative_difference(found, exact, side), strategy.tolerance.factors,
                 largest.factors, "factors");
    test::expect_zero_where_empty(m.view(), found, side);
  }

  /// One half-step of all strategies from the same start, beside that of the reference.
  static void compare_all(const CsrMatrix& m, const AlsParams& params, Side side,
                          const Factors& start, Largest& largest) {
    const auto exact =
        job<AlsJob>(open_device("reference")).make_solver(m.view(), params, start.clone());
    (void)exact->solve(side, {});
    for_each_strategy([&](const AlsStrategy& strategy) {
      SCOPED_TRACE(fmt::format("{} x {}, {}", m.rows, m.cols, side_name(side)));
      const auto solver = make_solver(m, params, strategy, start);
      const double reported = solver->solve(side, {});
      compare(m, params, side, strategy, *solver, reported, exact->factors(), largest[strategy]);
    });
  }
};

TEST_P(AlsOnDevice, EqualsReference) {
  Largest largest;
  for (const auto& [name, params] : GetParam().cases) {
    SCOPED_TRACE(name);
    for (const auto& [users, items] : {std::pair{1, 1}, {3, 40}, {60, 33}, {200, 90}}) {
      const CsrMatrix m = matrix_of(params, users, items, 7);
      if (!is_determined(m, params)) continue;
      const Factors start = test::trained_factors(m.view(), params);
      for (const Side side : test::kSides) {
        if (is_affordable(m, side, params)) compare_all(m, params, side, start, largest);
      }
    }
  }
}

TEST_P(AlsOnDevice, MatricesWithoutRowsOrColumns) {
  for (const auto& one : GetParam().cases) {
    for (const auto& [users, items] : {std::pair{0, 0}, {0, 5}, {5, 0}}) {
      const CsrMatrix m = make_csr(users, items, {});
      const Factors start = test::first_factors(m.view(), one.params);
      for_each_strategy([&](const AlsStrategy& strategy) {
        SCOPED_TRACE(fmt::format("{}, {} x {}", one.name, m.rows, m.cols));
        const auto solver = make_solver(m, one.params, strategy, start);
        const auto exact =
            job<AlsJob>(open_device("reference")).make_solver(m.view(), one.params, start.clone());
        for (const Side side : test::kSides) {
          EXPECT_FLOAT_EQ(solver->solve(side, {}), exact->solve(side, {})) << side_name(side);
          test::expect_zero_where_empty(m.view(), solver->factors(), side);
        }
      });
    }
  }
}

/// By calculus, for every width.
TEST_P(AlsOnDevice, GradientVanishesAfterAnExactHalfStep) {
  Largest largest;
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.name);
    const CsrMatrix m = matrix_of(one.params, 60, 33, 3);
    const Factors start = test::trained_factors(m.view(), one.params);
    const double unit = test::als_objective_of_nothing(m.view(), start, one.params);
    for_each_strategy([&](const AlsStrategy& strategy) {
      for (const Side side : test::kSides) {
        if (!strategy.exact) continue;
        SCOPED_TRACE(side_name(side));
        const auto solver = make_solver(m, one.params, strategy, start);
        const double reported = solver->solve(side, {});
        const double objective = test::als_objective(m.view(), solver->factors(), one.params);
        expect_small(std::abs(reported - objective) / unit, strategy.tolerance.reported,
                     largest[strategy].reported, "reported objective");
        expect_small(test::worst_gradient(m.view(), solver->factors(), side, one.params),
                     strategy.tolerance.gradient, largest[strategy].gradient, "gradient");
      }
    });
  }
}

TEST_P(AlsOnDevice, ObjectiveNeverRises) {
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.name);
    const CsrMatrix m = matrix_of(one.params, 40, 31, 5);
    const Factors start = test::trained_factors(m.view(), one.params);
    const double unit = test::als_objective_of_nothing(m.view(), start, one.params);
    for_each_strategy([&](const AlsStrategy& strategy) {
      const auto solver = make_solver(m, one.params, strategy, start, 1);
      double before = test::als_objective(m.view(), start, one.params);
      for (int i = 0; i < 6; ++i) {
        const double reported = solver->solve(test::kSides[i % 2], {});
        const double now = test::als_objective(m.view(), solver->factors(), one.params);
        EXPECT_LE(now, before + strategy.tolerance.objective * unit) << "half-step " << i;
        EXPECT_NEAR(reported, now, strategy.tolerance.reported * unit) << "half-step " << i;
        before = now;
      }
    });
  }
}

/// Errors of half-steps must not add up over a training.
TEST_P(AlsOnDevice, EveryIterationKeepsTheExactObjective) {
  Largest largest;
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.name);
    AlsParams params = one.params;
    params.iterations = 10;
    const CsrMatrix all = matrix_of(params, 60, 33, 13);
    // The objective of a training is that of the rows with entries.
    const CsrMatrix m = RowsWithEntries(all.view()).part_of(all.view());
    if (!is_affordable(m, Side::kUsers, params, 2 * params.iterations)) continue;
    const IterationResult expected = train_als(m.view(), params, open_device("reference"));
    const double unit = test::als_objective_of_nothing(m.view(), expected.factors, params);
    for_each_strategy([&](const AlsStrategy& strategy) {
      IterationRun run;
      run.on_iteration = [&](const TrainingState& state) {
        const Iteration& now = state.iterations.back();
        SCOPED_TRACE(fmt::format("iteration {}", now.iteration));
        const auto i = static_cast<std::size_t>(now.iteration) - 1;
        const double got = test::als_objective(m.view(), state.factors(), params);
        expect_small(std::abs(got / expected.iterations[i].objective - 1.0),
                     strategy.tolerance.drift, largest[strategy].drift, "objective");
        expect_small(std::abs(now.objective - got) / unit, strategy.tolerance.reported,
                     largest[strategy].reported, "reported objective");
      };
      (void)train_als(m.view(), strategy.applied_to(params), device(), run);
    });
  }
}

/// The same bits in every run, whether or not somebody looks at the factors in between, and with
/// another solver beside.
TEST_P(AlsOnDevice, RunsAreTheSameToTheBit) {
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.name);
    const CsrMatrix m = matrix_of(one.params, 200, 90, 9);
    const Factors start = test::trained_factors(m.view(), one.params);
    for_each_strategy([&](const AlsStrategy& strategy) {
      const auto first = make_solver(m, one.params, strategy, start);
      const auto second = make_solver(m, one.params, strategy, start);
      for (int i = 0; i < 4; ++i) {
        EXPECT_EQ(first->solve(test::kSides[i % 2], {}), second->solve(test::kSides[i % 2], {}))
            << "half-step " << i;
        (void)second->factors();
      }
      const Factors looked_at = second->factors().clone();
      EXPECT_TRUE(test::same_factors(first->factors(), looked_at));
      EXPECT_TRUE(test::same_factors(second->take_factors(), looked_at));
    });
  }
}

/// Rows of up to 34,000 interactions: too long for a cache, and cut in pieces on a GPU.
TEST_P(AlsOnDevice, LongRowsEqualReference) {
  Largest largest;
  const CsrMatrix m = test::long_rows_matrix();
  for (const auto& one : GetParam().cases) {
    SCOPED_TRACE(one.name);
    if (!is_affordable(m, Side::kItems, one.params)) continue;
    const Factors start = test::first_factors(m.view(), one.params);
    compare_all(m, one.params, Side::kItems, start, largest);
  }
}

/// The widest explicit rows: their eigenvectors take the host a second for every half-step.
using WidestAlsOnDevice = AlsOnDevice;
TEST_P(WidestAlsOnDevice, FewRowsEqualReference) {
  Largest largest;
  const CsrMatrix m = test::few_rows_matrix();
  const AlsParams& params = GetParam().cases.front().params;
  compare_all(m, params, Side::kUsers, test::first_factors(m.view(), params), largest);
}

/// Every kernel in a moment, so that slow checkers get through.
class AlsKernels : public AlsOnDevice {};

TEST_P(AlsKernels, FewRowsEqualReference) {
  Largest largest;
  const CsrMatrix m = test::few_rows_matrix();
  const AlsParams& params = GetParam().cases.front().params;
  const Factors start = test::first_factors(m.view(), params);
  const auto exact =
      job<AlsJob>(open_device("reference")).make_solver(m.view(), params, start.clone());
  (void)exact->solve(Side::kUsers, {});
  for_each_strategy([&](const AlsStrategy& strategy) {
    if (strategy.solver == AlsSolverKind::kAuto) return;  // one of the others
    for (const int completed : {0, 1}) {                  // 1: solutions start from the factors
      if (strategy.solver == AlsSolverKind::kCholesky && completed > 0) continue;
      SCOPED_TRACE(fmt::format("{} completed", completed));
      const auto solver = make_solver(m, params, strategy, start, completed);
      const double reported = solver->solve(Side::kUsers, {});
      compare(m, params, Side::kUsers, strategy, *solver, reported, exact->factors(),
              largest[strategy]);
    }
  });
}

/// Fewer ratings than unknowns, or hardly more, and next to no lambda: what float32 sums leave of
/// an explicit row's pivots is rounding.
class AlsPivots : public AlsOnDevice {};

TEST_P(AlsPivots, HardlyRegularizedRowsEqualReference) {
  Largest largest;
  const CsrMatrix m = test::few_rows_matrix();
  AlsParams params = GetParam().cases.front().params;
  params.regularization = 1e-4;
  params.regularization_exponent = 0.0;
  const Factors start = test::first_factors(m.view(), params);
  const auto exact =
      job<AlsJob>(open_device("reference")).make_solver(m.view(), params, start.clone());
  (void)exact->solve(Side::kUsers, {});
  for_each_strategy([&](AlsStrategy strategy) {
    if (strategy.solver != AlsSolverKind::kCholesky || strategy.precision > Precision::kFp32)
      return;
    strategy.tolerance.factors = 2e-3;  // condition numbers are 1e4 and more
    const auto solver = make_solver(m, params, strategy, start);
    const double reported = solver->solve(Side::kUsers, {});
    compare(m, params, Side::kUsers, strategy, *solver, reported, exact->factors(),
            largest[strategy]);
  });
}

/// By calculus: long rows of a table that is larger than a GPU's cache, which it solves in
/// lockstep.
using LargeTableOnDevice = AlsOnDevice;
TEST_P(LargeTableOnDevice, GradientVanishesAfterAnExactHalfStep) {
  Largest largest;
  const CsrMatrix m = test::long_rows_matrix();
  const AlsParams& params = GetParam().cases.front().params;
  const Factors start = test::first_factors(m.view(), params);
  for_each_strategy([&](const AlsStrategy& strategy) {
    if (!strategy.exact) return;
    const auto solver = make_solver(m, params, strategy, start);
    (void)solver->solve(Side::kItems, {});
    expect_small(test::worst_gradient(m.view(), solver->factors(), Side::kItems, params),
                 strategy.tolerance.gradient, largest[strategy].gradient, "gradient");
  });
}

/// A GPU multiplies items with many users of a large table with all users, 64 items at a time. What
/// it finds is held against its own exact solution, which forms matrices.
using DenseRowsOnDevice = AlsOnDevice;
TEST_P(DenseRowsOnDevice, EqualTheExactSolution) {
  Largest largest;
  const AlsParams& params = GetParam().cases.front().params;
  const CsrMatrix m = test::dense_items_matrix(21'500'000 / params.factors);  // 43 MB in 16 bits
  const Factors start = test::first_factors(m.view(), params);
  const double unit = test::als_objective_of_nothing(m.view(), start, params);
  const AlsStrategy by_matrices{"", AlsSolverKind::kCholesky, Precision::kFp32, true, {}};
  const auto exact = make_solver(m, params, by_matrices, start);
  const double want = exact->solve(Side::kItems, {});
  for_each_strategy([&](const AlsStrategy& strategy) {
    const AlsTolerance& allowed = strategy.tolerance;
    const bool halves =
        strategy.precision == Precision::kFp16 || strategy.precision == Precision::kBf16;
    if (strategy.solver == AlsSolverKind::kCholesky || !halves) return;
    for (const int completed : {0, 1}) {  // 1: solutions start from the factors
      const auto solver = make_solver(m, params, strategy, start, completed);
      for (const int time : {1, 2}) {  // the second starts where the first has ended
        SCOPED_TRACE(fmt::format("{} completed, time {}", completed, time));
        const double reported = solver->solve(Side::kItems, {});
        expect_small(std::abs(reported - want) / unit, allowed.objective + allowed.reported,
                     largest[strategy].objective, "objective");
        expect_small(test::relative_difference(solver->factors(), exact->factors(), Side::kItems),
                     allowed.factors, largest[strategy].factors, "factors");
      }
      const auto again = make_solver(m, params, strategy, start, completed);
      for (int time = 0; time < 2; ++time) (void)again->solve(Side::kItems, {});
      EXPECT_TRUE(test::same_factors(again->factors(), solver->factors()));
    }
  });
}

[[nodiscard]] AlsCases one_case(const char* name, Feedback feedback, int factors) {
  return {name, {{fmt::format("{} factors", factors), test::small_als(feedback, factors)}}};
}

INSTANTIATE_TEST_SUITE_P(Cuda, WidestAlsOnDevice,
                         testing::Values(one_case("explicit", Feedback::kExplicit, 1023)),
                         cases_name);
INSTANTIATE_TEST_SUITE_P(Cuda, LargeTableOnDevice,
                         testing::Values(one_case("implicit", Feedback::kImplicit, 1024),
                                         one_case("explicit", Feedback::kExplicit, 300)),
                         cases_name);
INSTANTIATE_TEST_SUITE_P(Cuda, DenseRowsOnDevice,
                         testing::Values(one_case("implicit", Feedback::kImplicit, 512),
                                         one_case("implicit_narrower", Feedback::kImplicit, 250),
                                         one_case("explicit", Feedback::kExplicit, 300)),
                         cases_name);
INSTANTIATE_TEST_SUITE_P(Cpu, AlsOnDevice,
                         testing::ValuesIn(with_given(test::als_cases(129), true)), cases_name);
INSTANTIATE_TEST_SUITE_P(Cuda, AlsOnDevice,
                         testing::ValuesIn(with_given(test::als_cases(1024), false)), cases_name);
INSTANTIATE_TEST_SUITE_P(Cpu, AlsKernels, testing::ValuesIn(test::als_kernel_cases()), cases_name);
INSTANTIATE_TEST_SUITE_P(Cuda, AlsKernels, testing::ValuesIn(test::als_kernel_cases()), cases_name);
INSTANTIATE_TEST_SUITE_P(Cpu, AlsPivots, testing::ValuesIn(test::als_pivot_cases()), cases_name);
INSTANTIATE_TEST_SUITE_P(Cuda, AlsPivots, testing::ValuesIn(test::als_pivot_cases()), cases_name);

}  // namespace
}  // namespace likewise
