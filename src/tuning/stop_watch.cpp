// SPDX-License-Identifier: Apache-2.0
#include "tuning/stop_watch.h"

#include <utility>

namespace likewise {
namespace {

constexpr auto kBetweenLooks = std::chrono::milliseconds(20);

}  // namespace

StopWatch::StopWatch(const std::atomic<bool>* caller, std::function<Clock::time_point()> now)
    : caller_(caller), now_(std::move(now)), thread_([this] { watch(); }) {}

StopWatch::~StopWatch() {
  {
    const std::lock_guard lock(mutex_);
    leaving_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

void StopWatch::set_end(std::optional<Clock::time_point> end) {
  const std::lock_guard lock(mutex_);
  end_ = end;
  flag_ = false;
  look();
}

void StopWatch::look() {
  const bool asked = caller_ != nullptr && caller_->load(std::memory_order_relaxed);
  if (asked || (end_ && now_() >= *end_)) flag_ = true;
}

void StopWatch::watch() {
  std::unique_lock lock(mutex_);
  while (!leaving_) {
    look();
    changed_.wait_for(lock, kBetweenLooks);
  }
}

}  // namespace likewise
