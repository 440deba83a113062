// SPDX-License-Identifier: Apache-2.0
#include "core/system/parallel.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <memory>
#include <stdexcept>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "core/lazy.h"
#include "likewise/control.h"

namespace likewise {
namespace {

/// Runs `work` in a task while another task of the same loop throws.
template <class Work>
void run_beside_a_failure(const Work& work) {
  std::atomic<bool> begun{false};
  const auto task = [&](Offset i) {
    if (i == 1) return begun = true, work();
    while (!begun) std::this_thread::yield();
    throw std::runtime_error("the other task");
  };
  with_threads(2, [&] { EXPECT_THROW(run_tasks(2, TaskView(task)), std::runtime_error); });
}

#ifndef LIKEWISE_PLAIN_THREADS  // those have a third of the tasks each
TEST(ParallelLoops, NoTaskWaitsForALongOneBeforeIt) {
  constexpr Offset kTasks = 10;
  std::atomic<Offset> done{0};
  const auto task = [&](Offset i) {
    const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
    while (i == 0 && done < kTasks - 1 && std::chrono::steady_clock::now() < last) {
      std::this_thread::yield();
    }
    if (i == 0) {
      EXPECT_EQ(done, kTasks - 1);
    }
    ++done;
  };
  with_threads(2, [&] { run_tasks(kTasks, TaskView(task)); });
  EXPECT_EQ(done, kTasks);
}

TEST(ParallelLoops, TasksStartInTheirOrder) {
  constexpr Offset kTasks = 1000;  // more than a thread draws one by one
  std::vector<Offset> started;
  const auto task = [&](Offset i) { started.push_back(i); };
  with_threads(1, [&] { run_tasks(kTasks, TaskView(task)); });
  EXPECT_EQ(std::ssize(started), kTasks);
  EXPECT_TRUE(std::ranges::is_sorted(started));
}

TEST(ParallelLoops, AThreadBeginsWithItsOwnAffineTasks) {
  const std::thread::id caller = std::this_thread::get_id();
  // Of the tasks 0 and 1, that of the thread that calls the loop.
  const auto task_of_caller = [&] {
    std::atomic<int> inside{0};
    std::atomic<Offset> own{-1};
    const auto task = [&](Offset i) {
      if (i > 1) return;
      if (std::this_thread::get_id() == caller) own = i;
      // None goes on to the tasks of the other before both have begun.
      const auto last = std::chrono::steady_clock::now() + std::chrono::seconds(20);
      ++inside;
      while (inside < 2 && std::chrono::steady_clock::now() < last) std::this_thread::yield();
    };
    run_affine_tasks(10, TaskView(task));
    return own.load();
  };
  with_threads(2, [&] {
    const Offset first = task_of_caller();
    EXPECT_NE(first, -1);
    for (int loop = 0; loop < 20; ++loop) EXPECT_EQ(task_of_caller(), first);
  });
}

#endif

TEST(ParallelLoops, AffineTasksAreAllRunOnce) {
  for (const int threads : {1, 2, 3, 5}) {
    with_threads(threads, [&] {
      for (const Offset count : {0, 1, 2, 3, 4, 100, 1000}) {
        std::vector<std::atomic<int>> runs(static_cast<std::size_t>(count));
        const auto task = [&](Offset i) { ++runs[static_cast<std::size_t>(i)]; };
        run_affine_tasks(count, TaskView(task));
        // Within tasks, where threads join as they become free.
        parallel_for(2, 1, [&](Offset) { run_affine_tasks(count, TaskView(task)); });
        EXPECT_TRUE(std::ranges::all_of(runs, [](const auto& times) { return times == 3; }));
      }
    });
  }
}

TEST(ParallelLoops, ExceptionsOfAffineTasksPassThrough) {
  const auto task = [&](Offset i) {
    if (i == 7) throw std::runtime_error("the seventh");
  };
  with_threads(2, [&] { EXPECT_THROW(run_affine_tasks(10, TaskView(task)), std::runtime_error); });
}

TEST(ParallelLoops, EndsOfOtherTasksDoNotEndALoopWithin) {
  constexpr Offset kLoops = 20'000;  // the failure comes in one of them
  std::atomic<Offset> done{0};
  run_beside_a_failure([&] {
    for (Offset loop = 0; loop < kLoops; ++loop) {
      parallel_for(10, 1, [&](Offset) { done.fetch_add(1, std::memory_order_relaxed); });
    }
  });
  EXPECT_EQ(done, 10 * kLoops);
}

TEST(ParallelLoops, WhatIsMadeOnceIsMadeAsAWhole) {
  constexpr Offset kValues = 20'000;
  std::vector<Lazy<Offset>> values(kValues);
  const auto value = [&](Lazy<Offset>& one) {
    return one.get([] {
      std::atomic<Offset> sum{0};
      parallel_for(10, 1, [&](Offset i) { sum += i; });
      return std::make_unique<Offset>(sum.load());
    });
  };
  run_beside_a_failure([&] {
    for (Lazy<Offset>& one : values) (void)value(one);
  });
  for (Lazy<Offset>& one : values) ASSERT_EQ(value(one), 45);
}

}  // namespace
}  // namespace likewise
