// SPDX-License-Identifier: Apache-2.0
#include "server/workers.h"

#include <algorithm>
#include <utility>

#include "likewise/control.h"

namespace likewise::server {
namespace {

/// Requests that are answered together, at most: the first of them waits for the last.
constexpr std::size_t kTogether = 32;

}  // namespace

Workers::Workers(const Front& front, int threads, Deliver deliver)
    : front_(front), deliver_(std::move(deliver)) {
  for (int t = 0; t < threads; ++t) {
    // Requests are many: each is answered by one thread.
    threads_.emplace_back([this] { with_threads(1, [this] { work(); }); });
  }
}

Workers::~Workers() {
  {
    const std::lock_guard lock(mutex_);
    ending_ = true;
    waiting_.clear();
  }
  changed_.notify_all();
}

bool Workers::add(Waiting& waiting) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_.size() >= front_.service().limits().waiting) return false;
    waiting_.push_back(std::move(waiting));
    ++front_.service().metrics().waiting;
  }
  changed_.notify_one();
  return true;
}

std::vector<Waiting> Workers::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return ending_ || !waiting_.empty(); });
  std::vector<Waiting> group;
  if (waiting_.empty()) return group;
  const std::size_t operation = waiting_.front().task.operation;
  const Operation& asked = front_.service().operations()[operation];
  const auto joins = [&](const Waiting& one) {
    return asked.run_together && one.task.operation == operation &&
           !(asked.is_large && asked.is_large(one.task.request));
  };
  bool more = false;
  do {
    more = joins(waiting_.front());
    group.push_back(std::move(waiting_.front()));
    waiting_.pop_front();
  } while (more && !waiting_.empty() && group.size() < kTogether && joins(waiting_.front()));
  front_.service().metrics().waiting -= std::ssize(group);
  return group;
}

void Workers::work() {
  while (true) {
    std::vector<Waiting> group = next();
    if (group.empty()) return;
    answer_all(group);
  }
}

void Workers::answer_all(std::vector<Waiting>& group) {
  const Service& service = front_.service();
  const std::size_t operation = group.front().task.operation;
  const auto late = [&](const Waiting& one) {
    return Clock::now() - one.arrived > service.limits().patience;
  };
  std::vector<Waiting*> asked;
  std::vector<const Json*> requests;
  for (Waiting& one : group) {
    if (late(one)) {
      deliver_(
          std::move(one.asker),
          front_.reply_to(operation, Fault(FaultKind::kUnavailable,
                                           "the server is busy: the request waited too long")));
      continue;
    }
    asked.push_back(&one);
    requests.push_back(&one.task.request);
  }
  std::vector<Outcome> outcomes =
      answer_checked(service, service.operations()[operation], requests);
  for (std::size_t a = 0; a < asked.size(); ++a) {
    deliver_(std::move(asked[a]->asker), front_.reply_to(operation, std::move(outcomes[a])));
  }
}

}  // namespace likewise::server
