// SPDX-License-Identifier: Apache-2.0
/// `Front`: HTTP without a socket. A request becomes a task (an operation, and what it is asked) or
/// an answer at once; an outcome becomes a reply.
#pragma once

#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "server/query_string.h"
#include "server/service.h"
#include "server/tokens.h"

namespace likewise::server {

/// A request as it came, read but not understood.
struct HttpRequest {
  std::string_view method{};
  std::string_view target{};  ///< "/v1/recommend?user=1", or a whole address
  std::string_view host{};
  std::string_view authorization{};
  std::string_view content_type{};
  std::string_view body{};
  std::string_view if_none_match{};
  std::string_view origin{};
  std::string_view mcp_version{};  ///< MCP-Protocol-Version
};

struct Reply {
  int status = 200;
  std::string content_type;
  std::string body;
  std::size_t operation = 0;  ///< as Service::operation_name() takes it
  std::string headers{};      ///< more of them, each with its line end
};

/// What the header of a request asks for, and whether it may.
struct Route {
  std::size_t operation = 0;     ///< as Service::operation_name() takes it
  std::optional<Reply> reply{};  ///< where nothing else is needed: a refusal, a file of the page
  bool is_probe = false;         ///< of those that watch a server, and may
  bool takes_body = false;
  // For Front::take().
  Method method = Method::kGet;
  Target target{};
  std::string parameter{};  ///< in the path: its name and its value
  std::string value{};
};

/// A request that was checked.
struct Task {
  std::size_t operation = 0;
  Json request;
};

/// What is common to all requests, whoever sends them.
struct Door {
  /// Names that a request may call this server by; empty: any. Beside localhost and addresses.
  /// As read_host_name() has them. Without it a page of another site could reach a server on
  /// loopback by a name of its own.
  bool any_host = false;
  std::vector<std::string> hosts{};
};

/// The body, which must be JSON and say so. Throws Fault.
[[nodiscard]] Json json_body_of(const HttpRequest& request);

/// Thread-safe.
class Front {
 public:
  Front(const Service& service, Door door) : service_(service), door_(std::move(door)) {}

  /// For requests from here on.
  void use_tokens(Tokens tokens);

  /// Before the body: host, path, method, token, content type. Never throws.
  [[nodiscard]] Route route(const HttpRequest& header) const;
  /// All of a request, and its route, whose reply it may take. Never throws.
  [[nodiscard]] std::variant<Task, Reply> take(const HttpRequest& request, Route& route) const;
  [[nodiscard]] std::variant<Task, Reply> take(const HttpRequest& request) const;
  [[nodiscard]] Reply reply_to(std::size_t operation, Outcome outcome) const;
  /// Without an operation: for what is wrong with a request that was not even read.
  [[nodiscard]] Reply refusal(const Fault& fault) const;
  [[nodiscard]] Reply refusal(const Fault& fault, std::size_t operation) const;

  [[nodiscard]] const Service& service() const { return service_; }

 private:
  void find_route(const HttpRequest& header, Route& route) const;
  void look_at_header(const HttpRequest& header, const Operation& operation,
                      const Route& route) const;
  [[nodiscard]] Reply other_methods(const HttpRequest& header, const Route& route,
                                    const std::vector<Method>& methods) const;
  void check_host(std::string_view host) const;
  [[nodiscard]] std::shared_ptr<const Tokens> tokens() const;

  const Service& service_;
  Door door_;
  mutable std::mutex mutex_;
  std::shared_ptr<const Tokens> tokens_ = std::make_shared<const Tokens>();
};

/// The header of a reply, with the line that ends it.
[[nodiscard]] std::string head_of(const Reply& reply, bool alive);
/// Reply, as bytes. `alive`: whether the connection stays open. `head`: without its body.
[[nodiscard]] std::string bytes_of(const Reply& reply, bool alive, bool head);

}  // namespace likewise::server
