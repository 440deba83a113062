// SPDX-License-Identifier: Apache-2.0
/// Messages of JSON-RPC to answers: all of the protocol but its transports.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "server/mcp/methods.h"

namespace likewise::server::mcp {

/// The answer, on one line; nothing to notifications, and to answers of the client, which nobody
/// asked for. Never throws: what is wrong with a message is the answer. `session` changes by
/// `initialize` alone.
[[nodiscard]] std::optional<std::string> answer_message(const Service& service, Session& session,
                                                        const Json& message);
/// The same for text, which may not be JSON.
[[nodiscard]] std::optional<std::string> answer_text(const Service& service, Session& session,
                                                     std::string_view text);
/// To what could not be read.
[[nodiscard]] std::string refuse_unread(const std::string& why);

}  // namespace likewise::server::mcp
