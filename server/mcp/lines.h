// SPDX-License-Identifier: Apache-2.0
/// The Model Context Protocol over standard input and output: a line a message.
#pragma once

#include "server/service.h"

namespace likewise::server::mcp {

/// Answers the lines of the descriptor `input` on `output`, one by one, until input ends, nobody
/// reads output any more, or SIGTERM or SIGINT comes; a second signal ends the process at once. A
/// line may be as long as a body of HTTP. Throws Error(kIo).
void serve_lines(const Service& service, int input, int output);

}  // namespace likewise::server::mcp
