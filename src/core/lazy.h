// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <atomic>
#include <memory>
#include <mutex>

#include "core/system/parallel.h"
#include "likewise/types.h"

namespace likewise {

/// A value made once, by whoever needs it first. The maker's exception leaves it unmade. Isolated:
/// while the maker waits for its own parallel loop, its thread must not pick up a task of the
/// caller that wants this very value.
template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(const Make& make) {
    if (const T* made = made_.load(std::memory_order_acquire)) return *made;
    const std::lock_guard lock(making_);
    const auto fill = [&](Offset) { value_ = make(); };
    if (value_ == nullptr) run_isolated(TaskView(fill));
    made_.store(value_.get(), std::memory_order_release);
    return *value_;
  }
  /// Null before it is made.
  [[nodiscard]] const T* made() const { return made_.load(std::memory_order_acquire); }

 private:
  std::mutex making_;  // not std::call_once, which not every platform unlocks after an exception
  std::atomic<const T*> made_{nullptr};
  std::unique_ptr<T> value_;
};

}  // namespace likewise
