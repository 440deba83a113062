// SPDX-License-Identifier: Apache-2.0
/// Signals. The first SIGINT, SIGTERM, SIGHUP or SIGXCPU asks the work to stop: it unwinds, so
/// partial files go and a message can say how to go on. What has not stopped after a moment (it
/// waits for a pipe, or computes without asking) is ended: partial files are removed, one line says
/// why. A second signal does that at once. A closed pipe (`| head`) ends the process quietly; a
/// file that reaches the size limit (SIGXFSZ) is an error of whoever writes it.
#pragma once

#include <atomic>

namespace likewise::cli {

void install_signal_handlers();

/// Set by the first signal that asks to stop; for RunControl::cancel.
[[nodiscard]] const std::atomic<bool>& interrupted();

/// The name of that signal; empty before it.
[[nodiscard]] const char* stop_signal();

/// True for one caller: whoever says why the process fails says it alone.
[[nodiscard]] bool claim_last_word();

}  // namespace likewise::cli
