// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <optional>
#include <thread>

namespace likewise {

/// A flag that stops long work when the caller asks to or the time for it is over, whichever is
/// first.
class StopWatch {
 public:
  using Clock = std::chrono::steady_clock;

  /// `caller` may be null. `now` is called by a thread of its own too.
  StopWatch(const std::atomic<bool>* caller, std::function<Clock::time_point()> now);
  ~StopWatch();
  StopWatch(const StopWatch&) = delete;
  StopWatch& operator=(const StopWatch&) = delete;

  /// From now on the time is over then; nothing: never.
  void set_end(std::optional<Clock::time_point> end);
  [[nodiscard]] const std::atomic<bool>& flag() const { return flag_; }

 private:
  void watch();
  void look();

  const std::atomic<bool>* caller_;
  std::function<Clock::time_point()> now_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::optional<Clock::time_point> end_;
  bool leaving_ = false;
  std::atomic<bool> flag_ = false;
  std::thread thread_;  ///< the last: it uses the others
};

}  // namespace likewise
