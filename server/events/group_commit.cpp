// SPDX-License-Identifier: Apache-2.0
#include "server/events/group_commit.h"

#include <algorithm>
#include <exception>
#include <iterator>
#include <utility>

namespace likewise::server {
namespace {

/// Events of a transaction: enough that a sync is cheap, few enough that nobody waits long.
constexpr std::size_t kMostInGroup = 20'000;
/// Events that wait: beyond, the store is too slow for what comes.
constexpr std::size_t kMostWaiting = 1'000'000;

/// Each batch has an error of its own: those who wait read it and let go of it in other threads.
[[nodiscard]] std::exception_ptr own_copy(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const StoreError& known) {
    return std::make_exception_ptr(StoreError(known.reason(), known.what(), known.told()));
  } catch (const Error& known) {
    return std::make_exception_ptr(Error(known.kind(), known.what()));
  } catch (...) {
    return error;
  }
}

}  // namespace

GroupCommit::GroupCommit(Commit commit) : commit_(std::move(commit)), thread_([this] { run(); }) {}

GroupCommit::~GroupCommit() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  work_.notify_one();
  thread_.join();
}

void GroupCommit::submit(std::vector<Event> events, WhenAppended done) {
  {
    const std::lock_guard lock(mutex_);
    if (waiting_ + events.size() > kMostWaiting) {
      throw StoreError(StoreError::Reason::kUnavailable,
                       "too many events wait to be stored: send them again later");
    }
    waiting_ += events.size();
    queue_.push_back({std::move(events), std::move(done)});
  }
  work_.notify_one();
}

Position GroupCommit::between_groups(const std::function<Position()>& look) {
  Look mine{look};
  std::unique_lock lock(mutex_);
  looks_.push_back(&mine);
  work_.notify_one();
  looked_.wait(lock, [&] { return mine.done; });
  if (mine.error) std::rethrow_exception(mine.error);
  return mine.found;
}

void GroupCommit::run() {
  while (wait_for_work()) {
    take_looks();
    std::vector<Batch> group = next_group();
    if (!group.empty()) commit_group(std::move(group));
  }
}

/// False: it is to end, and nothing waits.
bool GroupCommit::wait_for_work() {
  std::unique_lock lock(mutex_);
  const auto something = [&] { return !queue_.empty() || !looks_.empty(); };
  work_.wait(lock, [&] { return stopping_ || something(); });
  return something();
}

void GroupCommit::take_looks() {
  std::vector<Look*> looks;
  {
    const std::lock_guard lock(mutex_);
    looks.swap(looks_);
  }
  for (Look* one : looks) {
    try {
      one->found = one->look();
    } catch (...) {
      one->error = std::current_exception();
    }
  }
  {
    const std::lock_guard lock(mutex_);
    for (Look* one : looks) one->done = true;
  }
  looked_.notify_all();
}

std::vector<GroupCommit::Batch> GroupCommit::next_group() {
  const std::lock_guard lock(mutex_);
  std::vector<Batch> group;
  std::size_t events = 0;
  while (!queue_.empty() &&
         (group.empty() || events + queue_.front().events.size() <= kMostInGroup)) {
    events += queue_.front().events.size();
    group.push_back(std::move(queue_.front()));
    queue_.pop_front();
  }
  waiting_ -= events;
  return group;
}

void GroupCommit::commit_group(std::vector<Batch> group) {
  std::vector<Event> events;
  std::vector<std::size_t> sizes;
  for (Batch& batch : group) {
    sizes.push_back(batch.events.size());
    std::ranges::move(batch.events, std::back_inserter(events));
  }
  std::vector<Position> positions;
  std::exception_ptr error;
  try {
    positions = commit_(events);
  } catch (...) {
    error = std::current_exception();
  }
  std::size_t first = 0;
  for (std::size_t b = 0; b < group.size(); ++b) {
    Appended appended{{}, error ? own_copy(error) : nullptr};
    for (std::size_t e = first; !error && e < first + sizes[b]; ++e) {
      appended.events.push_back({positions[e], std::move(events[e])});
    }
    first += sizes[b];
    group[b].done(std::move(appended));
  }
}

}  // namespace likewise::server
