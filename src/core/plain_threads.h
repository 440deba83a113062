// SPDX-License-Identifier: Apache-2.0
/// The loops of parallel.h on plain threads, for the thread sanitizer. oneTBB is not
/// instrumented, so each task that it hands to another thread would be reported as a race; the
/// start and the end of a plain thread are understood, so a report about a loop's body is real.
/// oneTBB gets no threads in this build (control.cpp): pipelines and sorts run on their caller's.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "likewise/types.h"

namespace likewise {

constexpr Offset kPlainThreads = 3;

/// Calls task(i) for every i in [0, count). The first exception stops the loop and passes through.
template <class Task>
void run_on_plain_threads(Offset count, const Task& task) {
  std::atomic<Offset> next{0};  // relaxed: drawing a number must not order the tasks
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&] {
    try {
      Offset i = 0;
      while ((i = next.fetch_add(1, std::memory_order_relaxed)) < count) task(i);
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      next.store(count, std::memory_order_relaxed);
    }
  };
  {
    std::vector<std::jthread> threads;
    for (Offset t = 0; t < std::min(count, kPlainThreads); ++t) threads.emplace_back(work);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace likewise
