// SPDX-License-Identifier: Apache-2.0
#include "gil.h"

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <pthread.h>
#include <thread>
#include <unistd.h>

namespace likewise::python {
namespace {

/// How long the end of the interpreter waits for work that was told to stop.
constexpr std::chrono::seconds kPatience{3};

enum class Phase { kRuns, kEnds, kEnded };

/// Never destroyed: threads may be here until the process is gone.
struct Interpreter {
  std::mutex mutex;  ///< never held by who waits for the GIL
  std::condition_variable left;
  Phase phase = Phase::kRuns;
  std::thread::id ended_by;
  int inside = 0;  ///< threads without the GIL, besides the one that ends the interpreter
};

Interpreter& interpreter() {
  static auto* const it = new Interpreter;
  return *it;
}

void leave() {
  Interpreter& it = interpreter();
  const std::lock_guard lock(it.mutex);
  if (it.inside > 0) --it.inside;  // a fork begins with 0
  it.left.notify_all();
}

/// In place of destructors of static objects where work still goes on.
void leave_at_once(int status, void*) {
  {
    const std::lock_guard lock(interpreter().mutex);
    if (interpreter().inside == 0) return;
  }
  (void)std::fflush(nullptr);
  _exit(status);
}

/// Called by `atexit`, by the thread that ends the interpreter.
void end_work() {
  Interpreter& it = interpreter();
  {
    const std::lock_guard lock(it.mutex);
    it.phase = Phase::kEnds;
    it.ended_by = std::this_thread::get_id();
  }
  PyThreadState* const state = PyEval_SaveThread();
  {
    std::unique_lock lock(it.mutex);
    if (!it.left.wait_for(lock, kPatience, [&] { return it.inside == 0; })) {
      (void)on_exit(&leave_at_once, nullptr);
    }
    it.phase = Phase::kEnded;
  }
  PyEval_RestoreThread(state);
}

}  // namespace

void set_interpreter_ends() { PyErr_SetString(PyExc_SystemExit, "the interpreter ends"); }

WithoutGil::WithoutGil() {
  {
    Interpreter& it = interpreter();
    const std::lock_guard lock(it.mutex);
    ends_the_interpreter_ = it.ended_by == std::this_thread::get_id();
    if (it.phase != Phase::kRuns && !ends_the_interpreter_) {
      set_interpreter_ends();
      throw nb::python_error();
    }
    if (!ends_the_interpreter_) ++it.inside;
  }
  state_ = PyEval_SaveThread();
}

WithoutGil::~WithoutGil() {
  bool ended = false;
  if (!ends_the_interpreter_) {
    const std::lock_guard lock(interpreter().mutex);
    ended = interpreter().phase == Phase::kEnded;
  }
  if (ended) {
    leave();
    stay();
  }
  take();
  if (!ends_the_interpreter_) leave();
}

bool WithoutGil::may_take() const {
  if (ends_the_interpreter_) return true;
  const std::lock_guard lock(interpreter().mutex);
  return interpreter().phase == Phase::kRuns;
}

void WithoutGil::take() const {
  try {
    PyEval_RestoreThread(state_);
  } catch (abi::__forced_unwind&) {  // the interpreter ended meanwhile
    stay();
  }
}

void WithoutGil::stay() {
  while (true) std::this_thread::sleep_for(std::chrono::hours(1));
}

void bind_exit() {
  nb::module_::import_("atexit").attr("register")(nb::cpp_function(&end_work));
  // A fork has the forking thread alone.
  pthread_atfork([] { interpreter().mutex.lock(); }, [] { interpreter().mutex.unlock(); },
                 [] {
                   interpreter().inside = 0;
                   interpreter().mutex.unlock();
                 });
}

}  // namespace likewise::python
