// SPDX-License-Identifier: Apache-2.0
/// What solver `auto` promises, over shapes, confidences and regularizations on every device: after
/// the same number of iterations the objective of the exact solver. The largest differences met are
/// properties of each test in a report (--gtest_output=xml).
#include <algorithm>
#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "algorithms/als/als.h"
#include "algorithms/iteration_run.h"
#include "backends/jobs/als_solver.h"
#include "backends/jobs/device_jobs.h"
#include "likewise/als.h"
#include "likewise/error.h"
#include "likewise/synthetic.h"
#include "tests/backends/device_test.h"
#include "tests/backends/jobs/als_cases.h"
#include "tests/backends/jobs/als_oracle.h"
#include "tests/support.h"

namespace likewise {
namespace {

using test::AlsCase;

/// What als.h says.
constexpr double kPromise = 2e-3;
/// A half-step from the same start leaves a few steps of 4.5e-5 of the rows' objectives.
constexpr double kHalfStep = 3e-4;

/// Interactions of a kind, and for how many factors.
struct AutoShape {
  std::string name;
  Index users;
  Index items;
  Offset per_user;
  bool structured;  ///< from the generator: long and short rows; else all alike, noise
  int factors;
  std::size_t every = 1;  ///< only each so many-th case: exact iterations take their time
};
void PrintTo(const AutoShape& shape, std::ostream* to) { *to << shape.name; }

[[nodiscard]] CsrMatrix matrix_of(const AutoShape& shape, Feedback feedback) {
  if (!shape.structured) {
    return test::random_csr(shape.users, shape.items, static_cast<double>(shape.per_user), 1);
  }
  const std::string text =
      fmt::format("{}x{}x{}{}", shape.users, shape.items, shape.users * shape.per_user,
                  feedback == Feedback::kExplicit ? ":explicit" : "");
  return std::move(generate(parse_shape(text), 5).by_user);
}

[[nodiscard]] std::vector<AlsCase> implicit_cases() {
  std::vector<AlsCase> all;
  const auto add = [&](const std::string& name, const auto& change) {
    AlsParams params;
    change(params);
    all.push_back({name, params});
  };
  for (const double alpha : {0.1, 1.0, 10.0, 1000.0}) {
    for (const double lambda : {1e-4, 0.01, 10.0}) {
      add(fmt::format("alpha {}, lambda {}", alpha, lambda), [&](AlsParams& p) {
        p.alpha = alpha;
        p.regularization = lambda;
      });
    }
  }
  add("log", [](AlsParams& p) {
    p.alpha = 7.0;
    p.confidence = Confidence::kLog;
    p.epsilon = 0.3;
  });
  add("unobserved weight 0.1", [](AlsParams& p) { p.unobserved_weight = 0.1; });
  add("unobserved weight 0.001", [](AlsParams& p) { p.unobserved_weight = 0.001; });
  add("nu 1", [](AlsParams& p) {
    p.unobserved_weight = 0.1;
    p.regularization_exponent = 1.0;
  });
  return all;
}

/// On values of 1 and more; those below 1 are for devices that take them.
[[nodiscard]] std::vector<AlsCase> given_cases(bool below_one) {
  std::vector<AlsCase> all;
  for (const double alpha : {10.0, 1.0, 0.3, 0.1, 0.001}) {
    for (const double lambda : {0.1, 1e-3}) {
      if (alpha < 1.0 && !below_one) continue;
      AlsParams params;
      params.confidence = Confidence::kGiven;
      params.alpha = alpha;
      params.regularization = lambda;
      all.push_back({fmt::format("given, alpha {}, lambda {}", alpha, lambda), params});
    }
  }
  return all;
}

[[nodiscard]] std::vector<AlsCase> explicit_cases() {
  std::vector<AlsCase> all;
  for (const double nu : {0.0, 1.0}) {
    for (const bool biases : {true, false}) {
      for (const double lambda : {1e-3, 0.01, 0.1, 10.0}) {
        AlsParams params = AlsParams::defaults(Feedback::kExplicit);
        params.regularization = lambda;
        params.regularization_exponent = nu;
        params.biases = biases;
        all.push_back(
            {fmt::format("nu {}, lambda {}{}", nu, lambda, biases ? "" : ", no biases"), params});
      }
    }
  }
  return all;
}

class AlsAuto : public test::DeviceTest<AutoShape> {
 protected:
  static void compare_all(Feedback feedback, const std::vector<AlsCase>& cases) {
    const AutoShape& shape = GetParam();
    const CsrMatrix m = matrix_of(shape, feedback);
    double worst = 0.0;
    double worst_half_step = 0.0;
    for (std::size_t c = 0; c < cases.size(); c += shape.every) {
      const AlsCase& one = cases[c];
      SCOPED_TRACE(one.name);
      AlsParams params = one.params;
      params.factors = shape.factors;
      // Errors add up where rows are short and hardly held.
      const bool adds_up = shape.structured && feedback == Feedback::kExplicit;
      params.iterations = on_gpu() || adds_up ? 15 : 5;
      try {
        compare(m, params, worst, worst_half_step);
      } catch (const Error& error) {
        ADD_FAILURE() << error.what();
      }
    }
    RecordProperty("largest", fmt::format("{:.1e}, of a half-step {:.1e}", worst, worst_half_step));
  }

 private:
  static void compare(const CsrMatrix& m, const AlsParams& params, double& worst,
                      double& worst_half_step) {
    const IterationResult exact = train(m, params, AlsSolverKind::kCholesky);
    const IterationResult found = train(m, params, AlsSolverKind::kAuto);
    for (std::size_t i = 0; i < exact.iterations.size(); ++i) {
      const double want = exact.iterations[i].objective;
      const double off = std::abs(found.iterations[i].objective / want - 1.0);
      EXPECT_TRUE(off <= kPromise) << "iteration " << i + 1 << " off by " << off;
      worst = std::max(worst, off);
    }
    const double off = half_step(m, params, exact.factors);
    EXPECT_TRUE(off <= kHalfStep) << "half-step off by " << off;
    worst_half_step = std::max(worst_half_step, off);
  }

  /// In float32: what stored factors are rounded to is another matter (precision.md).
  [[nodiscard]] static AlsParams with(AlsParams params, AlsSolverKind solver) {
    params.solver = solver;
    params.precision = Precision::kFp32;
    return params;
  }
  [[nodiscard]] static IterationResult train(const CsrMatrix& m, const AlsParams& params,
                                             AlsSolverKind solver) {
    return train_als(m.view(), with(params, solver), device());
  }
  /// How far one half-step is off, from the same start.
  [[nodiscard]] static double half_step(const CsrMatrix& m, const AlsParams& params,
                                        const Factors& start) {
    const auto solve = [&](AlsSolverKind solver) {
      return job<AlsJob>(device())
          .make_solver(m.view(), with(params, solver), start.clone(), params.iterations)
          ->solve(Side::kUsers, {});
    };
    return std::abs(solve(AlsSolverKind::kAuto) / solve(AlsSolverKind::kCholesky) - 1.0);
  }
};

TEST_P(AlsAuto, KeepsTheExactObjectiveOfImplicitFeedback) {
  compare_all(Feedback::kImplicit, implicit_cases());
}

TEST_P(AlsAuto, KeepsTheExactObjectiveOfGivenConfidences) {
  compare_all(Feedback::kImplicit, given_cases(!on_gpu()));
}

TEST_P(AlsAuto, KeepsTheExactObjectiveOfExplicitFeedback) {
  compare_all(Feedback::kExplicit, explicit_cases());
}

/// Small ones, nearly complete ones, and for the processor ones little larger than small.
[[nodiscard]] std::vector<AutoShape> shapes() {
  return {{"complete", 30, 20, 20, false, 5},     {"complete_wide", 30, 20, 20, false, 18},
          {"small", 300, 200, 10, false, 16},     {"half", 500, 300, 150, false, 64, 5},
          {"noise", 1000, 500, 20, false, 96, 3}, {"structured", 1000, 500, 25, true, 96, 3}};
}
[[nodiscard]] std::vector<AutoShape> more_shapes() {
  std::vector<AutoShape> all = shapes();
  for (const int factors : {5, 16, 64, 128}) {
    all.push_back({fmt::format("noise_{}", factors), 8000, 4000, 50, false, factors});
    all.push_back({fmt::format("structured_{}", factors), 20000, 5000, 100, true, factors});
  }
  // Wide rows, whose last steps look at a part of long rows; and the items of a table of users that
  // is larger than a cache.
  all.push_back({"wide", 4000, 3000, 400, true, 208, 4});
  all.push_back({"wide_long", 60000, 400, 30, true, 208, 6});
  return all;
}

[[nodiscard]] std::string shape_name(const testing::TestParamInfo<AutoShape>& test) {
  return test.param.name;
}

INSTANTIATE_TEST_SUITE_P(Cpu, AlsAuto, testing::ValuesIn(shapes()), shape_name);
INSTANTIATE_TEST_SUITE_P(Cuda, AlsAuto, testing::ValuesIn(more_shapes()), shape_name);

/// Those beyond the small ones do take the other strategy.
TEST(AlsAutoSolver, IsExactWhereThatIsCheapOrNeeded) {
  AlsParams params;
  const auto exact = [&](AlsShape shape) { return solves_exactly(params, shape); };
  EXPECT_TRUE(exact({1000, 300, 40'000}));
  EXPECT_FALSE(exact({480'189, 17'770, 99'072'112}));
  EXPECT_TRUE(exact({10'000, 1'000, 2'500'000}));  // a quarter of all cells
  EXPECT_FALSE(exact({10'000, 1'000, 2'000'000}));
  params.factors = 96;
  EXPECT_FALSE(exact({1000, 500, 20'000}));
  EXPECT_FALSE(exact({1000, 500, 25'000}));
  params = AlsParams::defaults(Feedback::kExplicit);
  EXPECT_FALSE(exact({10'000, 1'000, 2'500'000}));
  params.regularization = 1e-3;
  EXPECT_FALSE(exact({10'000, 1'000, 2'500'000}));
  EXPECT_TRUE(exact({10'000, 1'000, 1'000'000}));  // 100 ratings for 64 factors
  params.regularization = 0.0;
  EXPECT_FALSE(exact({10'000, 1'000, 1'000'000}));
  params.solver = AlsSolverKind::kCg;
  EXPECT_FALSE(exact({10, 10, 20}));
  params.solver = AlsSolverKind::kCholesky;
  EXPECT_TRUE(exact({480'189, 17'770, 99'072'112}));
}

/// A GPU takes one strategy for all rows.
TEST(AlsAutoSolver, OfAGpuDependsOnExplicitRegularization) {
  const AlsShape large{480'189, 17'770, 99'072'112};
  AlsParams params = AlsParams::defaults(Feedback::kExplicit);
  const auto resolved = [&](const AlsShape& shape, double lambda) {
    params.regularization = lambda;
    return resolve_solver(params, shape).solver;
  };
  EXPECT_EQ(resolved(large, 0.1), AlsSolverKind::kAuto);
  EXPECT_EQ(resolved(large, 1e-3), AlsSolverKind::kAuto);
  EXPECT_EQ(resolved(large, 1e-4), AlsSolverKind::kCholesky);
  params.factors = 128;  // 206 ratings of a user are few for so many
  EXPECT_EQ(resolved(large, 1e-3), AlsSolverKind::kCholesky);
  EXPECT_EQ(resolved(large, 0.1), AlsSolverKind::kAuto);
  EXPECT_EQ(resolved(large, 0.0), AlsSolverKind::kAuto);
  EXPECT_EQ(resolved({100, 50, 1000}, 0.1), AlsSolverKind::kCholesky);
  EXPECT_EQ(resolved({100, 50, 1000}, 0.0), AlsSolverKind::kAuto);
  params.solver = AlsSolverKind::kCg;
  EXPECT_EQ(resolved(large, 1e-3), AlsSolverKind::kCg);
}

}  // namespace
}  // namespace likewise
