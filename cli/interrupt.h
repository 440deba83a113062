// SPDX-License-Identifier: Apache-2.0
/// Signals: the first SIGINT or SIGTERM asks the work to stop (it unwinds, so partial files go),
/// the second one ends the process at once. A closed pipe (`| head`) ends it quietly.
#pragma once

#include <atomic>

namespace likewise::cli {

void install_signal_handlers();

/// Set by the first SIGINT or SIGTERM; for RunControl::cancel.
[[nodiscard]] const std::atomic<bool>& interrupted();

}  // namespace likewise::cli
