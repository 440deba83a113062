// SPDX-License-Identifier: Apache-2.0
#include "background.h"

#include <chrono>
#include <cxxabi.h>
#include <nanobind/stl/string.h>
#include <utility>

namespace likewise::python {
namespace {

/// How long a signal may wait.
constexpr std::chrono::milliseconds kLook{50};

}  // namespace

RunControl Background::control() {
  RunControl control;
  control.cancel = &cancelled_;
  if (progress_.is_none()) return control;
  control.on_progress = [this](const ProgressUpdate& update) {
    const std::lock_guard lock(mutex_);
    // Of progress only the newest matters; a remark is never lost.
    const bool remark = update.unit.empty();
    if (!remark && !updates_.empty() && updates_.back().stage == update.stage &&
        !updates_.back().unit.empty()) {
      updates_.pop_back();
    }
    updates_.push_back(
        {std::string(update.stage), update.done, update.total, std::string(update.unit)});
  };
  return control;
}

void Background::call(const std::function<void()>& callback) {
  std::unique_lock lock(mutex_);
  call_ = &callback;
  posted_.notify_one();
  answered_.wait(lock, [&] { return call_ == nullptr; });
}

void Background::cancel() {
  cancelled_ = true;
  if (also_ != nullptr) *also_ = true;
}

void Background::interrupted(nb::python_error& error) {
  if (!interruption_) interruption_.emplace(std::move(error));
  cancel();
}

/// With the GIL.
void Background::make_calls(const std::vector<Update>& updates, const std::function<void()>* call) {
  try {
    if (PyErr_CheckSignals() != 0) throw nb::python_error();
    if (cancelled_) return;
    if (!poll_.is_none()) poll_();
    for (const Update& u : updates) progress_(u.stage, u.done, u.total, u.unit);
    if (call != nullptr) (*call)();
  } catch (nb::python_error& error) {
    interrupted(error);
  } catch (abi::__forced_unwind&) {
    throw;
  } catch (...) {
    failure_ = std::current_exception();
    cancelled_ = true;
  }
}

/// Makes the calls that wait. The lock is not held while Python runs.
void Background::serve(std::unique_lock<std::mutex>& lock, WithoutGil& without) {
  const std::vector<Update> updates = std::exchange(updates_, {});
  const std::function<void()>* const call = call_;
  lock.unlock();
  if (!without.with_gil([&] { make_calls(updates, call); })) {
    interpreter_ends_ = true;
    cancel();
  }
  lock.lock();
  if (call != nullptr) {
    call_ = nullptr;
    answered_.notify_one();
  }
}

void Background::run(int threads, const std::function<void()>& work) {
  {
    WithoutGil without;
    std::thread worker([&] {
      try {
        with_threads(threads, work);
      } catch (...) {
        const std::lock_guard lock(mutex_);
        if (!failure_) failure_ = std::current_exception();
      }
      const std::lock_guard lock(mutex_);
      ended_ = true;
      posted_.notify_one();
    });
    std::unique_lock lock(mutex_);
    while (!ended_) {
      posted_.wait_for(lock, kLook, [&] { return ended_ || call_ != nullptr; });
      serve(lock, without);
    }
    lock.unlock();
    worker.join();
  }
  if (interpreter_ends_ && !interruption_) {
    set_interpreter_ends();
    interruption_.emplace();
  }
  if (interruption_ && !has_answer_) throw nb::python_error(std::move(*interruption_));
  if (failure_) std::rethrow_exception(failure_);
}

nb::object Background::interruption() const {
  return interruption_ ? nb::borrow(interruption_->value()) : nb::none();
}

}  // namespace likewise::python
