// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>
#include <mutex>

#include <tbb/task_arena.h>

namespace likewise {

/// A value made once, by whoever needs it first. The maker's exception leaves it unmade. Isolated:
/// while the maker waits for its own parallel loop, its thread must not pick up a task of the
/// caller that wants this very value.
template <class T>
class Lazy {
 public:
  template <class Make>
  const T& get(const Make& make) {
    std::call_once(once_, [&] { tbb::this_task_arena::isolate([&] { value_ = make(); }); });
    return *value_;
  }

 private:
  std::once_flag once_;
  std::unique_ptr<T> value_;
};

}  // namespace likewise
