// SPDX-License-Identifier: Apache-2.0
/// The Model Context Protocol as streamable HTTP: POST /mcp. Each message is answered by itself, in
/// JSON. There is no session to keep, so none gets an id: the version comes with the message.
#pragma once

#include "server/operation.h"

namespace likewise::server::mcp {

[[nodiscard]] Operation mcp_operation();

}  // namespace likewise::server::mcp
