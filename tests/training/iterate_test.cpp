// SPDX-License-Identifier: Apache-2.0
/// The loop of algorithms that iterate, around a trainer that only counts.
#include "training/iterate.h"

#include <array>
#include <atomic>
#include <chrono>
#include <functional>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "../errors.h"
#include "algorithms/iteration_run.h"
#include "likewise/error.h"

namespace likewise {
namespace {

/// Its factors are the number of the iteration; a step that is broken off has spoilt them.
class CountingTrainer final : public Trainer {
 public:
  explicit CountingTrainer(std::function<void(int, const RunControl&)> during)
      : during_(std::move(during)) {
    factors_.users = Matrix(1, 1);
    factors_.items = Matrix(1, 1);
  }
  double step(const RunControl& control) override {
    *factors_.users.row(0) = -1.0F;
    during_(++steps_, control);
    *factors_.users.row(0) = static_cast<float>(steps_);
    return 100.0 / steps_;
  }
  const Factors& factors() override {
    ++fetches;
    std::this_thread::sleep_for(fetching);
    return factors_;
  }
  Factors take() override { return std::move(factors_); }

  int fetches = 0;
  std::chrono::milliseconds fetching{0};

 private:
  std::function<void(int, const RunControl&)> during_;
  int steps_ = 0;
  Factors factors_;
};

void wait_for_cancel(const RunControl& control) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (std::chrono::steady_clock::now() < end) control.check();
  FAIL() << "nobody broke the step off";
}

TEST(Iterate, AStopBreaksOffASlowIterationAndGoesBack) {
  std::atomic<bool> stop = false;
  CountingTrainer trainer([&](int step, const RunControl& control) {
    if (step < 3) return std::this_thread::sleep_for(std::chrono::milliseconds(600));
    stop = true;
    wait_for_cancel(control);
  });
  IterationRun run;
  run.stop = &stop;
  const IterationResult result = iterate(trainer, {10, 0.0, 0}, run);
  EXPECT_EQ(result.stop_reason, "stopped");
  EXPECT_EQ(result.iterations.size(), 2U);
  EXPECT_EQ(result.best_iteration, 2);
  EXPECT_EQ(*result.factors.users.row(0), 2.0F);
}

TEST(Iterate, AStopWaitsForAQuickIteration) {
  std::atomic<bool> stop = false;
  CountingTrainer trainer([&](int step, const RunControl& control) {
    if (step == 3) stop = true;
    control.check();
  });
  IterationRun run;
  run.stop = &stop;
  const IterationResult result = iterate(trainer, {10, 0.0, 0}, run);
  EXPECT_EQ(result.stop_reason, "stopped");
  EXPECT_EQ(result.iterations.size(), 3U);
  EXPECT_EQ(*result.factors.users.row(0), 3.0F);
}

/// What was kept of an earlier iteration is not what the newest one made.
TEST(Iterate, AStopWaitsForAnIterationAfterAQuickOne) {
  std::atomic<bool> stop = false;
  CountingTrainer trainer([&](int step, const RunControl& control) {
    if (step == 1) std::this_thread::sleep_for(std::chrono::milliseconds(600));
    if (step == 3) stop = true;
    control.check();
  });
  IterationRun run;
  run.stop = &stop;
  const IterationResult result = iterate(trainer, {10, 0.0, 0}, run);
  EXPECT_EQ(result.stop_reason, "stopped");
  EXPECT_EQ(result.best_iteration, 3);
  EXPECT_EQ(*result.factors.users.row(0), 3.0F);
}

/// As of a GPU with tables of gigabytes: copies would take most of the time.
TEST(Iterate, FactorsThatTakeLongToFetchAreNotKeptForAStop) {
  std::atomic<bool> stop = false;
  CountingTrainer trainer([&](int step, const RunControl& control) {
    if (step == 3) stop = true;
    std::this_thread::sleep_for(std::chrono::milliseconds(600));
    control.check();
  });
  trainer.fetching = std::chrono::milliseconds(300);
  IterationRun run;
  run.stop = &stop;
  const IterationResult result = iterate(trainer, {10, 0.0, 0}, run);
  EXPECT_EQ(trainer.fetches, 1) << "after the first iteration, to see how long it takes";
  EXPECT_EQ(result.best_iteration, 3) << "which is not broken off";
  EXPECT_EQ(*result.factors.users.row(0), 3.0F);
}

TEST(Iterate, AStopBreaksOffAValidationAndTheIterationBeforeCounts) {
  std::atomic<bool> stop = false;
  CountingTrainer trainer([](int, const RunControl&) {});
  IterationRun run;
  run.stop = &stop;
  run.validation.metric = "ndcg@10";
  run.validation.evaluate = [&](const Factors& factors) {
    const double number = *factors.users.row(0);
    if (number < 4.0) return number == 2.0 ? 0.9 : 0.5;
    stop = true;
    throw Error(ErrorKind::kCancelled, "interrupted");
  };
  const IterationResult result = iterate(trainer, {10, 0.0, 0}, run);
  EXPECT_EQ(result.stop_reason, "stopped");
  EXPECT_EQ(result.iterations.size(), 3U);
  EXPECT_EQ(result.best_iteration, 2);
  EXPECT_EQ(*result.factors.users.row(0), 2.0F);
  stop = false;
  run.validation.evaluate = [&](const Factors&) -> double {
    stop = true;
    throw Error(ErrorKind::kCancelled, "interrupted");
  };
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] {
                             (void)iterate(trainer, {10, 0.0, 0}, run);
                           }),
            "interrupted");
}

TEST(Iterate, AStopInTheFirstIterationLeavesNoModel) {
  std::atomic<bool> stop = false;
  CountingTrainer trainer([&](int, const RunControl& control) {
    stop = true;
    wait_for_cancel(control);
  });
  IterationRun run;
  run.stop = &stop;
  EXPECT_EQ(test::error_of(ErrorKind::kCancelled,
                           [&] {
                             (void)iterate(trainer, {10, 0.0, 0}, run);
                           }),
            "interrupted");
}

/// Validates iteration n of a CountingTrainer as values[n - 1].
IterationRun validated_run(std::vector<double> values, bool higher_is_better, double target) {
  IterationRun run;
  run.validation = {higher_is_better ? "ndcg@10" : "rmse", higher_is_better,
                    [values = std::move(values)](const Factors& factors) {
                      return values.at(static_cast<std::size_t>(*factors.users.row(0)) - 1);
                    },
                    target};
  return run;
}

IterationResult counted(const IterationRun& run, const Stopping& stopping) {
  CountingTrainer trainer([](int, const RunControl&) {});
  return iterate(trainer, stopping, run);
}

TEST(Iterate, ATargetEndsTrainingAfterTheIterationThatReachesIt) {
  for (const bool higher : {true, false}) {
    const std::vector<double> values = higher ? std::vector<double>{0.1, 0.3, 0.2, 0.5, 0.9}
                                              : std::vector{1.9, 1.7, 1.8, 1.5, 1.1};
    const double best = higher ? 0.5 : 1.5;
    const IterationResult exact = counted(validated_run(values, higher, best), {5, 0.0, 0});
    EXPECT_EQ(exact.stop_reason, "target");
    EXPECT_EQ(exact.iterations.size(), 4U);
    EXPECT_EQ(exact.best_iteration, 4);
    EXPECT_EQ(*exact.factors.users.row(0), 4.0F);
    const double between = higher ? 0.4 : 1.6;
    EXPECT_EQ(counted(validated_run(values, higher, between), {5, 0.0, 0}).iterations.size(), 4U);
    const double first = higher ? 0.05 : 2.0;
    EXPECT_EQ(counted(validated_run(values, higher, first), {5, 0.0, 0}).iterations.size(), 1U);
  }
}

TEST(Iterate, ATargetThatIsNeverReachedChangesNothing) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  const IterationResult result =
      counted(validated_run({nan, 0.3, 0.2, nan}, true, 0.31), {4, 0.0, 0});
  EXPECT_EQ(result.stop_reason, "iterations");
  EXPECT_EQ(result.best_iteration, 2);
  EXPECT_EQ(counted(validated_run({0.3, 0.2, 0.1, 0.1}, true, 0.5), {4, 0.0, 2}).stop_reason,
            "patience");
}

TEST(Iterate, TheTargetIsToldBeforeOtherReasons) {
  EXPECT_EQ(counted(validated_run({0.1, 0.5}, true, 0.5), {2, 0.9, 0}).stop_reason, "target");
}

TEST(Iterate, ATargetNeedsValidation) {
  IterationRun run;
  run.validation.target = 0.5;
  const std::string why = test::error_of(ErrorKind::kInvalidArgument, [&] {
    (void)counted(run, {2, 0.0, 0});
  });
  EXPECT_NE(why.find("target 0.5 needs validation"), std::string::npos) << why;
}

TEST(Iterate, SecondsAndFirstsOfACourse) {
  const std::array<Iteration, 4> course{Iteration{1, 9.0, 0.5, std::nullopt},
                                        {2, 8.0, 0.25, 0.7},
                                        {3, 7.0, 0.0, 0.9},
                                        {4, 6.0, 1.0, 0.9}};
  EXPECT_EQ(elapsed_seconds(course), (std::vector<double>{0.5, 0.75, 0.75, 1.75}));
  EXPECT_TRUE(elapsed_seconds({}).empty());
  EXPECT_EQ(first_to_reach(course, 0.8, true), &course[2]);
  EXPECT_EQ(first_to_reach(course, 0.8, false), &course[1]);
  EXPECT_EQ(first_to_reach(course, 0.95, true), nullptr);
  EXPECT_EQ(best_by_validation(course, true), &course[2]);
  EXPECT_EQ(best_by_validation(course, false), &course[1]);
  EXPECT_EQ(best_by_validation(std::span(course).first(1), true), nullptr);
}

}  // namespace
}  // namespace likewise
