// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>
#include <span>
#include <vector>

namespace likewise {

/// Buffers that tasks take and return for the next.
template <class T>
class Pool {
 public:
  template <class Make>
  [[nodiscard]] std::unique_ptr<T> take(const Make& make) {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<T>(make());
    std::unique_ptr<T> one = std::move(free_.back());
    free_.pop_back();
    return one;
  }
  void give_back(std::unique_ptr<T> one) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(one));
  }
  [[nodiscard]] std::span<const std::unique_ptr<T>> all() const { return free_; }

 private:
  std::mutex mutex_;
  std::vector<std::unique_ptr<T>> free_;
};

}  // namespace likewise
