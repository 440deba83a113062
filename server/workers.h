// SPDX-License-Identifier: Apache-2.0
/// `Workers`: threads that answer what takes more than a moment. Those of one kind that wait
/// together are answered together.
#pragma once

#include <condition_variable>
#include <deque>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "server/clock.h"
#include "server/front.h"

namespace likewise::server {

/// A request that waits. `asker` is whoever gets the reply.
struct Waiting {
  std::shared_ptr<void> asker;
  Task task;
  Clock::time_point arrived = Clock::now();
};

class Workers {
 public:
  /// `deliver` is called by any of the threads.
  using Deliver = std::function<void(std::shared_ptr<void> asker, Reply reply)>;

  Workers(const Front& front, int threads, Deliver deliver);
  /// Finishes what has begun; nobody waits for the rest any more.
  ~Workers();
  Workers(const Workers&) = delete;
  Workers& operator=(const Workers&) = delete;

  /// False where too many wait already.
  [[nodiscard]] bool add(Waiting& waiting);

 private:
  void work();
  [[nodiscard]] std::vector<Waiting> next();
  void answer_all(std::vector<Waiting>& group);

  const Front& front_;
  Deliver deliver_;
  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Waiting> waiting_;
  bool ending_ = false;
  std::vector<std::jthread> threads_;
};

}  // namespace likewise::server
