// SPDX-License-Identifier: Apache-2.0
/// Work without the GIL, and what becomes of it when the interpreter ends.
///
/// A daemon thread may be in the middle of anything then. Before 3.14 CPython ends a thread that
/// asks for the GIL too late by unwinding its stack, which aborts the program where C++ frames are
/// on it; and static objects of the library are destroyed under work that goes on. So Python's
/// `atexit` tells all work of other threads to stop and waits for it, a few seconds at most.
/// Threads that come back in time leave by SystemExit, which Python's threads end by without a
/// word; later ones never ask for the GIL again. The thread that ends the interpreter may go on
/// calling.
#pragma once

#include <cxxabi.h>

#include "binding.h"

namespace likewise::python {

/// While it lives, its thread has given up the GIL. The only way in the extension to do so.
class WithoutGil {
 public:
  /// Throws SystemExit where the interpreter is ending.
  WithoutGil();
  /// Waits for the GIL, or for the end of the program where the interpreter has ended.
  ~WithoutGil();
  WithoutGil(const WithoutGil&) = delete;
  WithoutGil& operator=(const WithoutGil&) = delete;

  /// Runs `call` with the GIL; false, and nothing was run, where the interpreter is ending. What
  /// `call` throws of C++ it has to catch itself, but for abi::__forced_unwind.
  template <class Call>
  [[nodiscard]] bool with_gil(const Call& call);

 private:
  [[nodiscard]] bool may_take() const;
  void take() const;
  [[noreturn]] static void stay();

  PyThreadState* state_ = nullptr;
  bool ends_the_interpreter_ = false;
};

/// For work that was told to stop by the interpreter's end: SystemExit as the current exception.
void set_interpreter_ends();

/// Registers what the end of the interpreter does.
void bind_exit();

template <class Call>
bool WithoutGil::with_gil(const Call& call) {
  if (!may_take()) return false;
  take();
  try {
    call();
  } catch (abi::__forced_unwind&) {  // the interpreter ended while Python ran in `call`
    stay();
  }
  state_ = PyEval_SaveThread();
  return true;
}

}  // namespace likewise::python
