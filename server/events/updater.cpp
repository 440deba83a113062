// SPDX-License-Identifier: Apache-2.0
#include "server/events/updater.h"

#include <algorithm>
#include <sys/resource.h>
#include <unistd.h>
#include <utility>

namespace likewise::server {
namespace {

constexpr int kLowestPriority = 19;
constexpr Microseconds kKeysAreKnown = 24 * 3600 * kPerSecond;

}  // namespace

Updater::Updater(EventStore& store, Plan plan, Updated updated, Failed failed)
    : store_(store),
      plan_(std::move(plan)),
      updated_(std::move(updated)),
      failed_(std::move(failed)),
      last_(plan_.files.size()),
      figures_(plan_.files.size()),
      thread_([this] { run(); }) {}

Updater::~Updater() {
  {
    const std::lock_guard lock(mutex_);
    cancel_ = true;
  }
  stop_.notify_all();
  thread_.join();
}

void Updater::run() {
  setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), kLowestPriority);  // of this thread alone
  std::unique_lock lock(mutex_);
  while (!stop_.wait_for(lock, plan_.every, [&] { return cancel_.load(); })) {
    lock.unlock();
    for (std::size_t file = 0; file < plan_.files.size() && !cancel_; ++file) update(file);
    if (plan_.compact && !cancel_) compact();
    lock.lock();
  }
}

void Updater::update(std::size_t file) {
  const auto begin = std::chrono::steady_clock::now();
  std::optional<FoldReport> report;
  std::string error;
  try {
    with_threads(1, [&] {
      report = fold_events(plan_.files[file], store_, plan_.rules, {&cancel_, {}});
    });
    if (report->events > 0) updated_(file, *report);
  } catch (const std::exception& failure) {
    error = failure.what();
  }
  if (cancel_) return;
  if (!error.empty()) failed_(file, error);
  const std::lock_guard lock(mutex_);
  UpdateFigures& figures = figures_[file];
  figures.last_error = error;
  figures.failures += error.empty() ? 0 : 1;
  if (!error.empty()) return;
  last_[file] = *report;
  if (report->events == 0) return;
  figures.updates += 1;
  figures.events += report->events;
  figures.set_aside += report->set_aside.events;
  figures.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

void Updater::compact() {
  const Position learned = std::ranges::min(last_, {}, &FoldReport::position).position;
  if (learned == 0) return;
  const Microseconds trained = std::ranges::min(last_, {}, &FoldReport::trained).trained;
  try {
    store_.compact(learned, now() - kKeysAreKnown, trained);
  } catch (const StoreError&) {
    // It is tried again after the next update; the store says in its own figures that it is away.
  }
}

UpdateFigures Updater::figures(std::size_t file) const {
  const std::lock_guard lock(mutex_);
  return figures_[file];
}

}  // namespace likewise::server
