// SPDX-License-Identifier: Apache-2.0
/// The methods of the Model Context Protocol that this server has: initialize, ping, tools/list,
/// tools/call, resources/list and resources/read. Tools are the operations that are marked so.
#pragma once

#include <stdexcept>
#include <string>

#include "server/mcp/session.h"
#include "server/service.h"

namespace likewise::server::mcp {

/// Why a method has no result. A tool that refuses is no such error: that is its result.
class RpcError : public std::runtime_error {
 public:
  RpcError(int code, const std::string& message) : std::runtime_error(message), code_(code) {}
  [[nodiscard]] int code() const noexcept { return code_; }

 private:
  int code_;
};

// Codes of JSON-RPC, and one of the protocol.
inline constexpr int kParseError = -32700;
inline constexpr int kInvalidRequest = -32600;
inline constexpr int kMethodNotFound = -32601;
inline constexpr int kInvalidParams = -32602;
inline constexpr int kInternalError = -32603;
inline constexpr int kResourceNotFound = -32002;

/// The result, as JSON. `params` is an object. Throws RpcError, and what operations throw.
[[nodiscard]] std::string run_method(const Service& service, Session& session,
                                     const std::string& method, const Json& params);

}  // namespace likewise::server::mcp
