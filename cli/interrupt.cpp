// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <csignal>

namespace likewise::cli {
namespace {

std::atomic<bool> stop_requested{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler sets it");

void request_stop(int) { stop_requested.store(true, std::memory_order_relaxed); }

}  // namespace

void install_signal_handlers() {
  struct sigaction action = {};
  action.sa_handler = request_stop;
  // After the first signal the default action is back: a second Ctrl-C needs nobody's cooperation.
  action.sa_flags = static_cast<int>(SA_RESETHAND) | SA_RESTART;
  sigemptyset(&action.sa_mask);
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
  std::signal(SIGPIPE, SIG_DFL);  // some parents leave it ignored
}

const std::atomic<bool>& interrupted() { return stop_requested; }

}  // namespace likewise::cli
