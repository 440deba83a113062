// SPDX-License-Identifier: Apache-2.0
/// The loop of algorithms that iterate, around a trainer that only counts.
#include "training/iterate.h"

#include <atomic>
#include <chrono>
#include <functional>
#include <thread>
#include <utility>

#include <gtest/gtest.h>

#include "../errors.h"
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
  const Factors& factors() override { return factors_; }
  Factors take() override { return std::move(factors_); }

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

}  // namespace
}  // namespace likewise
