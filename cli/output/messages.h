// SPDX-License-Identifier: Apache-2.0
/// The standard streams. Results that cannot be written are an error (OutputFile says which);
/// messages that cannot be written are dropped, and the work goes on.
#pragma once

#include <string_view>

namespace likewise::cli {

/// Call it first. A descriptor from 0 to 2 that the parent closed would go to the next file that is
/// opened, and messages into that file: each gets something that can neither be read nor written.
void occupy_closed_streams();

/// Writes to standard error; what cannot be written (a full disk, a closed pipe) is left out.
void print_message(std::string_view text);

}  // namespace likewise::cli
