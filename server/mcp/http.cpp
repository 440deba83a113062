// SPDX-License-Identifier: Apache-2.0
#include "server/mcp/http.h"

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/front.h"
#include "server/mcp/messages.h"

namespace likewise::server::mcp {
namespace {

/// What a client means that says no version.
constexpr std::string_view kUnsaid = "2025-03-26";

/// Pages of other sites must not ask through a browser that reaches this server.
void check_origin(std::string_view origin, std::string_view host) {
  const std::size_t scheme = origin.find("://");
  if (origin.empty() || (scheme != std::string_view::npos && origin.substr(scheme + 3) == host)) {
    return;
  }
  throw Fault(FaultKind::kForbidden,
              fmt::format("pages of '{}' may not ask here", printable(origin)), "Origin");
}

[[nodiscard]] std::string version_in(std::string_view header) {
  if (header.empty()) return std::string(kUnsaid);
  if (is_version(header)) return std::string(header);
  throw Fault(FaultKind::kInvalidArgument,
              fmt::format("the protocol's version must be one of {}, not '{}'",
                          fmt::join(kVersions, ", "), printable(header)),
              "MCP-Protocol-Version");
}

[[nodiscard]] Json read_request(const HttpRequest& http) {
  check_origin(http.origin, http.host);
  std::string version = version_in(http.mcp_version);
  Json message = json_body_of(http);
  if (!message.is_structured()) {
    throw Fault(FaultKind::kInvalidArgument, "a message must be an object");
  }
  return {{"version", std::move(version)}, {"message", std::move(message)}};
}

[[nodiscard]] std::string answer_request(const Service& service, const Json& request) {
  Session session{request["version"].get<std::string>()};
  return answer_message(service, session, request["message"]).value_or(std::string());
}

}  // namespace

Operation mcp_operation() {
  return {.name = "mcp",
          .summary = "The tools, as the Model Context Protocol",
          .methods = {server::Method::kPost},
          .path = "/mcp",
          .parameters = object_schema("", {}),
          .answer = object_schema("", {}),
          .run = answer_request,
          .read = read_request};
}

}  // namespace likewise::server::mcp
