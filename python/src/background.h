// SPDX-License-Identifier: Apache-2.0
/// Long work beside the interpreter: other Python threads go on, Ctrl-C and the interpreter's end
/// are noticed, and callbacks run on the thread that called.
#pragma once

#include <atomic>
#include <condition_variable>
#include <exception>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "binding.h"
#include "gil.h"
#include "likewise/control.h"

namespace likewise::python {

/// What the package hears of work under way: progress(stage, done, total, unit), where unit is ""
/// for remarks; None to hear nothing. Its attribute `poll`, unless None, is called at every look
/// for signals, and ends the work by an exception.
class Background {
 public:
  /// `also` is set as cancelled() is.
  explicit Background(nb::object progress, std::atomic<bool>* also = nullptr)
      : progress_(std::move(progress)),
        poll_(nb::getattr(progress_, "poll", nb::none())),
        also_(also) {}

  /// Runs `work` on a thread of its own, with `threads` threads (0: all), and returns when it has
  /// ended. To be called with the GIL. What work or a callback throws comes out here; a signal that
  /// raises (Ctrl-C) sets `cancelled()` first and comes out when the work has ended; so does
  /// SystemExit where the interpreter ends.
  void run(int threads, const std::function<void()>& work);

  /// For the work: its control, and a call on the waiting thread, with the GIL. What the call
  /// throws cancels the work. After that nothing is called any more.
  [[nodiscard]] RunControl control();
  void call(const std::function<void()>& callback);
  [[nodiscard]] const std::atomic<bool>& cancelled() const { return cancelled_; }
  /// The work has an answer, although it may have been told to stop: run() then returns, and
  /// interruption() is the exception that stopped it, or None.
  void keep_answer() { has_answer_ = true; }
  [[nodiscard]] nb::object interruption() const;

 private:
  struct Update {
    std::string stage;
    Offset done;
    Offset total;
    std::string unit;
  };
  void serve(std::unique_lock<std::mutex>& lock, WithoutGil& without);
  void make_calls(const std::vector<Update>& updates, const std::function<void()>* call);
  void interrupted(nb::python_error& error);
  void cancel();

  nb::object progress_;
  nb::object poll_;
  std::atomic<bool>* also_;
  std::mutex mutex_;
  std::condition_variable posted_;    ///< something for the waiting thread
  std::condition_variable answered_;  ///< the call was made
  std::vector<Update> updates_;
  const std::function<void()>* call_ = nullptr;
  bool ended_ = false;
  bool has_answer_ = false;
  bool interpreter_ends_ = false;
  std::atomic<bool> cancelled_ = false;
  std::optional<nb::python_error> interruption_;
  std::exception_ptr failure_;
};

/// The same for work that only has an answer. Short work, `is_long` false, runs where it is.
template <class Work>
auto in_background(bool is_long, int threads, const nb::object& progress, const Work& work) {
  std::optional<decltype(work(RunControl{}))> answer;
  if (is_long) {
    Background background(progress);
    background.run(threads, [&] { answer.emplace(work(background.control())); });
  } else {
    const WithoutGil without;
    with_threads(threads, [&] { answer.emplace(work(RunControl{})); });
  }
  return std::move(*answer);
}

}  // namespace likewise::python
