// SPDX-License-Identifier: Apache-2.0
/// The training loop: stopping, the best iteration, resuming, cancelling, its parameters.
#include "algorithms/als/als.h"

#include <algorithm>
#include <atomic>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "algorithms/iteration_run.h"
#include "backends/cpu/kernels/als_passes.h"
#include "backends/jobs/device_jobs.h"
#include "core/system/instruction_set.h"
#include "likewise/als.h"
#include "likewise/device.h"
#include "likewise/matrix.h"
#include "tests/support.h"

namespace likewise {
namespace {

AlsParams small_params() {
  AlsParams params;
  params.factors = 6;
  params.iterations = 6;
  params.init_stddev = 0.5;
  params.regularization = 1.0;
  return params;
}

bool same(const Matrix& a, const Matrix& b) {
  return a.rows() == b.rows() && a.cols() == b.cols() &&
         std::equal(a.data(), a.data() + Offset{a.rows()} * a.stride(), b.data());
}

class TrainAls : public testing::Test {
 protected:
  CsrMatrix matrix_ = test::random_csr(60, 40, 8.0);
  Device device_ = open_device("cpu");
};

TEST_F(TrainAls, ZeroIterationsLeaveTheFirstFactors) {
  AlsParams params = small_params();
  params.iterations = 0;
  const IterationResult result = train_als(matrix_.view(), params, device_);
  EXPECT_TRUE(same(result.factors.users, draw_factors(Side::kUsers, 60, params)));
  EXPECT_TRUE(same(result.factors.items, draw_factors(Side::kItems, 40, params)));
  EXPECT_TRUE(result.iterations.empty());
}

TEST_F(TrainAls, FirstFactorsDependOnSeedAndSideButNotOnOtherRows) {
  AlsParams params = small_params();
  const Matrix few = draw_factors(Side::kUsers, 3, params);
  const Matrix many = draw_factors(Side::kUsers, 1000, params);
  EXPECT_TRUE(std::equal(few.row(2), few.row(2) + 6, many.row(2)));
  EXPECT_FALSE(
      std::equal(few.row(2), few.row(2) + 6, draw_factors(Side::kItems, 3, params).row(2)));
  params.seed = 43;
  EXPECT_FALSE(
      std::equal(few.row(2), few.row(2) + 6, draw_factors(Side::kUsers, 3, params).row(2)));
}

TEST_F(TrainAls, StopsWhenTheObjectiveHardlyFalls) {
  AlsParams params = small_params();
  params.iterations = 1000;
  params.tolerance = 1e-3;
  const IterationResult result = train_als(matrix_.view(), params, device_);
  EXPECT_EQ(result.stop_reason, "tolerance");
  const std::size_t n = result.iterations.size();
  ASSERT_GT(n, 2U);
  ASSERT_LT(n, 1000U);
  const double last_fall = result.iterations[n - 2].objective - result.iterations[n - 1].objective;
  EXPECT_LT(last_fall, 1e-3 * result.iterations[n - 2].objective);
}

TEST_F(TrainAls, KeepsTheBestIterationAndStopsByPatience) {
  AlsParams params = small_params();
  params.iterations = 50;
  params.patience = 3;
  IterationRun run;
  int calls = 0;
  run.validation = {"made up", true,
                    [&](const Factors&) { return calls++ == 4 ? 200.0 : 100.0 + calls; }};
  Factors fifth;
  run.on_iteration = [&](const TrainingState& state) {
    if (state.iterations.size() == 5) fifth = state.factors().clone();
  };
  const IterationResult result = train_als(matrix_.view(), params, device_, run);
  EXPECT_EQ(result.stop_reason, "patience");
  EXPECT_EQ(result.best_iteration, 5);
  EXPECT_EQ(result.iterations.size(), 8U);
  EXPECT_TRUE(same(result.factors.users, fifth.users));
}

/// Trains on the CPU, and counts how often anybody asks for the factors.
class CountingAls final : public AlsJob {
 public:
  explicit CountingAls(int& fetched) : fetched_(fetched) {}
  [[nodiscard]] MemoryPlan plan(const AlsShape& shape, const AlsParams& params) const override {
    return job<AlsJob>(cpu_).plan(shape, params);
  }
  [[nodiscard]] std::unique_ptr<AlsSolver> make_solver(const CsrView& by_user,
                                                       const AlsParams& params, Factors start,
                                                       int completed) const override {
    struct Solver final : AlsSolver {
      std::unique_ptr<AlsSolver> cpu;
      int* count = nullptr;
      double solve(Side side, const RunControl& control) override {
        return cpu->solve(side, control);
      }
      const Factors& factors() override {
        ++*count;
        return cpu->factors();
      }
      Factors take_factors() override { return cpu->take_factors(); }
    };
    auto solver = std::make_unique<Solver>();
    solver->cpu = job<AlsJob>(cpu_).make_solver(by_user, params, std::move(start), completed);
    solver->count = &fetched_;
    return solver;
  }

 private:
  Device cpu_ = open_device("cpu");
  int& fetched_;
};

TEST_F(TrainAls, FetchesFactorsOnlyWhereSomebodyLooks) {
  int fetched = 0;
  JobTable jobs;
  std::get<Offer<AlsJob>>(jobs).job = std::make_shared<CountingAls>(fetched);
  const Device device = make_device(
      "counting", [] { return std::string(); }, jobs);
  IterationRun run;
  run.on_iteration = [](const TrainingState&) {};
  (void)train_als(matrix_.view(), small_params(), device, run);
  EXPECT_EQ(fetched, 0);

  run.on_iteration = [](const TrainingState& state) {
    if (state.iterations.size() % 3 == 0) (void)state.factors();
  };
  (void)train_als(matrix_.view(), small_params(), device, run);
  EXPECT_EQ(fetched, 2);

  // Measured, kept as the best and looked at: still one copy an iteration.
  fetched = 0;
  run.on_iteration = [](const TrainingState& state) { (void)state.factors(); };
  run.validation = {"made up", false, [](const Factors& f) { return f.users.row(0)[0]; }};
  (void)train_als(matrix_.view(), small_params(), device, run);
  EXPECT_EQ(fetched, 6);
}

TEST_F(TrainAls, LowerCanBeBetter) {
  AlsParams params = small_params();
  IterationRun run;
  int calls = 0;
  run.validation = {"made up", false, [&](const Factors&) { return calls++ == 1 ? 0.5 : 1.0; }};
  EXPECT_EQ(train_als(matrix_.view(), params, device_, run).best_iteration, 2);
}

TEST_F(TrainAls, ResumingIsTheSameAsGoingOn) {
  AlsParams params = small_params();
  params.solver = AlsSolverKind::kCholesky;
  const IterationResult whole = train_als(matrix_.view(), params, device_);
  params.iterations = 2;
  const IterationResult half = train_als(matrix_.view(), params, device_);
  params.iterations = 6;
  IterationRun run;
  run.start = &half.factors;
  run.completed_iterations = 2;
  run.history = half.iterations;
  const IterationResult resumed = train_als(matrix_.view(), params, device_, run);
  EXPECT_TRUE(same(resumed.factors.users, whole.factors.users));
  EXPECT_TRUE(same(resumed.factors.items, whole.factors.items));
  EXPECT_EQ(resumed.iterations.size(), 6U);
}

TEST_F(TrainAls, StartOfAnotherShapeIsRefused) {
  AlsParams params = small_params();
  const IterationResult result = train_als(matrix_.view(), params, device_);
  params.factors = 7;
  IterationRun run;
  run.start = &result.factors;
  EXPECT_THROW((void)train_als(matrix_.view(), params, device_, run), Error);
}

TEST_F(TrainAls, CanBeCancelled) {
  std::atomic<bool> cancel{false};
  IterationRun run;
  run.control.cancel = &cancel;
  run.on_iteration = [&](const TrainingState& state) { cancel = state.iterations.size() == 2; };
  try {
    (void)train_als(matrix_.view(), small_params(), device_, run);
    FAIL() << "went on";
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::kCancelled);
  }
}

TEST_F(TrainAls, ParametersOutsideTheirRangesAreNamed) {
  const auto refused = [&](const char* field, const auto& change) {
    AlsParams params = small_params();
    change(params);
    try {
      params.validate();
      ADD_FAILURE() << field << " was accepted";
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::kInvalidArgument);
      EXPECT_THAT(error.what(), testing::HasSubstr(field));
    }
  };
  refused("factors", [](AlsParams& p) { p.factors = 0; });
  refused("iterations", [](AlsParams& p) { p.iterations = -1; });
  refused("regularization", [](AlsParams& p) { p.regularization = -1; });
  refused("regularization", [](AlsParams& p) { p.regularization = std::nan(""); });
  refused("regularization_exponent", [](AlsParams& p) { p.regularization_exponent = 2; });
  refused("alpha", [](AlsParams& p) { p.alpha = 0; });
  refused("epsilon", [](AlsParams& p) { p.epsilon = 0; });
  refused("unobserved_weight", [](AlsParams& p) { p.unobserved_weight = 0; });
  refused("unobserved_weight", [](AlsParams& p) {
    p.feedback = Feedback::kExplicit;
    p.unobserved_weight = 0.1;
  });
  refused("init_stddev", [](AlsParams& p) { p.init_stddev = 0; });
  refused("cg_steps", [](AlsParams& p) { p.cg_steps = 0; });
  refused("tolerance", [](AlsParams& p) { p.tolerance = -1e-9; });
  refused("patience", [](AlsParams& p) { p.patience = -1; });
}

TEST_F(TrainAls, OtherPrecisionsAreRefusedNotIgnored) {
  AlsParams params = small_params();
  for (const Precision precision : {Precision::kTf32, Precision::kBf16}) {
    params.precision = precision;
    EXPECT_THROW((void)train_als(matrix_.view(), params, device_), Error);
  }
  params.precision = Precision::kFp16;
  EXPECT_NO_THROW((void)train_als(matrix_.view(), params, device_));
  params.confidence = Confidence::kGiven;
  EXPECT_THROW((void)train_als(matrix_.view(), params, device_), Error);
}

TEST(Backends, KernelsRunOnTheChosenInstructionSet) {
  EXPECT_EQ(kernels::passes_target(), chosen_target());
}

}  // namespace
}  // namespace likewise
