// SPDX-License-Identifier: Apache-2.0
/// The loops of parallel.h on plain threads, for the thread sanitizer. oneTBB is not
/// instrumented, so each task that it hands to another thread would be reported as a race; a
/// mutex and condition variables are understood, so a report about a loop's body is real.
/// oneTBB gets no threads in this build (control.cpp): pipelines and sorts run on their caller's.
#pragma once

#include <array>
#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <thread>

#include "likewise/types.h"

namespace likewise {

constexpr int kPlainThreads = 3;

/// The threads that run the loops of one calling thread: loops of different callers are not
/// ordered by them, and a loop inside a task has threads of its own.
class PlainThreads {
 public:
  PlainThreads() {
    for (int t = 0; t < kPlainThreads; ++t) {
      threads_[static_cast<std::size_t>(t)] = std::jthread([this, t] { serve(t); });
    }
  }
  ~PlainThreads() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    begun_.notify_all();
  }
  PlainThreads(const PlainThreads&) = delete;
  PlainThreads& operator=(const PlainThreads&) = delete;

  [[nodiscard]] static PlainThreads& of_this_thread() {
    thread_local PlainThreads own;
    return own;
  }

  /// Calls work(t) on every thread t, and returns when all have ended.
  void run(const std::function<void(int)>& work) {
    std::unique_lock lock(mutex_);
    work_ = &work;
    busy_ = kPlainThreads;
    ++loop_;
    begun_.notify_all();
    ended_.wait(lock, [&] { return busy_ == 0; });
  }

 private:
  void serve(int thread) {
    std::unique_lock lock(mutex_);
    for (Offset last = 0;;) {
      begun_.wait(lock, [&] { return over_ || loop_ != last; });
      if (over_) return;
      last = loop_;
      lock.unlock();
      (*work_)(thread);
      lock.lock();
      if (--busy_ == 0) ended_.notify_one();
    }
  }

  std::mutex mutex_;
  std::condition_variable begun_;  ///< a loop, or the end: the threads wait for it
  std::condition_variable ended_;  ///< a loop: its caller waits for it
  const std::function<void(int)>* work_ = nullptr;
  Offset loop_ = 0;  ///< that was begun last
  int busy_ = 0;
  bool over_ = false;
  std::array<std::jthread, kPlainThreads> threads_;  // last: they end before what they use
};

/// Calls task(i) for every i in [0, count), each thread every third: however short they are, no
/// thread does them all. The first exception stops the loop and passes through.
template <class Task>
void run_on_plain_threads(Offset count, const Task& task) {
  std::atomic<bool> stop{false};  // relaxed: it must not order the tasks
  std::mutex mutex;
  std::exception_ptr failure;
  const auto work = [&](int thread) {
    try {
      for (Offset i = thread; i < count && !stop.load(std::memory_order_relaxed);
           i += kPlainThreads) {
        task(i);
      }
    } catch (...) {
      const std::lock_guard lock(mutex);
      if (!failure) failure = std::current_exception();
      stop.store(true, std::memory_order_relaxed);
    }
  };
  if (count == 1) {
    work(0);
  } else if (count > 1) {
    PlainThreads::of_this_thread().run(work);
  }
  if (failure) std::rethrow_exception(failure);
}

}  // namespace likewise
