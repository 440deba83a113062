// SPDX-License-Identifier: Apache-2.0
#include "server/front.h"

#include <algorithm>
#include <optional>
#include <utility>

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/ascii.h"
#include "server/clock.h"
#include "server/host_name.h"
#include "server/openapi.h"
#include "server/page/page_files.h"
#include "server/query_string.h"
#include "server/strict_json.h"

namespace likewise::server {
namespace {

[[nodiscard]] std::optional<Method> method_of(std::string_view name) {
  if (name == "GET" || name == "HEAD") return Method::kGet;
  if (name == "POST") return Method::kPost;
  if (name == "DELETE") return Method::kDelete;
  return {};
}

/// The parameter in a path: "/v1/users/{user}" with "/v1/users/7".
struct PathMatch {
  std::string name;
  std::string value;
};

/// Nothing where `path` is another one.
[[nodiscard]] std::optional<PathMatch> match(std::string_view pattern, std::string_view path) {
  const std::size_t brace = pattern.find('{');
  if (brace == std::string_view::npos) {
    return pattern == path ? std::optional<PathMatch>(PathMatch{}) : std::nullopt;
  }
  if (!path.starts_with(pattern.substr(0, brace)) || path.size() == brace) return {};
  return PathMatch{std::string(pattern.substr(brace + 1, pattern.size() - brace - 2)),
                   std::string(path.substr(brace))};
}

[[nodiscard]] std::string methods_text(const std::vector<Method>& methods) {
  std::string text;
  for (const Method method : methods) {
    text += fmt::format("{}{}", text.empty() ? "" : ", ", name_of(method));
  }
  return text;
}

/// The member that a name of a query string stands for; null where there is none. Members that no
/// query string can give have an empty name.
[[nodiscard]] const Json* member_of(const Json& properties, const std::string& name,
                                    std::string& member) {
  for (const auto& [candidate, schema] : properties.items()) {
    if (name.empty() || query_name(candidate, schema) != name) continue;
    member = candidate;
    return &schema;
  }
  return nullptr;
}

[[nodiscard]] bool is_list(const Json& schema) {
  return schema.contains("type") && schema["type"] == "array";
}

void add_parameter(Json& request, const Operation& operation, const std::string& name,
                   const std::string& text) {
  std::string member;
  const Json& properties = operation.parameters["properties"];
  const Json* schema = member_of(properties, name, member);
  if (schema == nullptr) {
    std::vector<std::string> names;
    for (const auto& [candidate, of] : properties.items()) {
      if (const std::string known = query_name(candidate, of); !known.empty()) {
        names.push_back(known);
      }
    }
    refuse_unknown(name, names, name);
  }
  if (is_list(*schema)) {
    request[member].push_back(value_of((*schema)["items"], text));
    return;
  }
  if (request.contains(member)) {
    throw Fault(FaultKind::kInvalidArgument, fmt::format("{} is given twice", name), name);
  }
  request[member] = value_of(*schema, text);
}

[[nodiscard]] std::string_view trimmed(std::string_view text) {
  const std::size_t first = std::min(text.find_first_not_of(" \t"), text.size());
  return text.substr(first, text.find_last_not_of(" \t") + 1 - first);
}

/// Takes off what stands before the next mark, and the mark.
[[nodiscard]] std::string_view take_part(std::string_view& text, char mark) {
  const std::size_t end = std::min(text.find(mark), text.size());
  const std::string_view part = trimmed(text.substr(0, end));
  text.remove_prefix(std::min(end + 1, text.size()));
  return part;
}

/// JSON in UTF-8, which is the only one that there is.
[[nodiscard]] bool is_json(std::string_view content_type) {
  if (!is_same_name(take_part(content_type, ';'), "application/json")) return false;
  while (!content_type.empty()) {
    std::string_view value = take_part(content_type, ';');
    if (!is_same_name(take_part(value, '='), "charset")) continue;
    if (value.size() > 1 && value.starts_with('"') && value.ends_with('"')) {
      value = value.substr(1, value.size() - 2);
    }
    if (!is_same_name(value, "utf-8") && !is_same_name(value, "utf8")) return false;
  }
  return true;
}

[[nodiscard]] Fault takes_no_body(Method method) {
  return {
      FaultKind::kInvalidArgument,
      fmt::format("{} takes its parameters from the address, not from a body", name_of(method))};
}

void require_json(std::string_view content_type) {
  if (is_json(content_type)) return;
  throw Fault(FaultKind::kUnsupportedMediaType,
              "a body must be JSON in UTF-8, with Content-Type: application/json");
}

[[nodiscard]] Json request_in(const Operation& operation, const HttpRequest& http,
                              const Route& route) {
  const Method method = route.method;
  if (method != Method::kPost && !http.body.empty()) throw takes_no_body(method);
  if (operation.read) return operation.read(http);
  Json request = method == Method::kPost ? json_body_of(http) : Json::object();
  if (!route.parameter.empty()) request[route.parameter] = route.value;
  for (const auto& [name, text] : route.target.query) add_parameter(request, operation, name, text);
  if (method != Method::kPost) check_one_of(operation.parameters, request, {}, query_name);
  check(operation.parameters, request);
  return request;
}

/// Without its content where the client has it: If-None-Match is a list of tags, or "*".
[[nodiscard]] Reply reply_with(const PageFile& file, std::string_view if_none_match) {
  const bool has = if_none_match == "*" || if_none_match.find(file.tag) != std::string_view::npos;
  return {.status = has ? 304 : 200,
          .content_type = std::string(file.type),
          .body = has ? std::string() : std::string(file.content),
          .headers = fmt::format("{}ETag: {}\r\n", kPageHeaders, file.tag)};
}

[[nodiscard]] bool is_address(std::string_view name) {
  return name.starts_with('[') || name.find_first_not_of("0123456789.") == std::string_view::npos;
}

}  // namespace

Json json_body_of(const HttpRequest& http) {
  require_json(http.content_type);
  return read_json(http.body);
}

void Front::use_tokens(Tokens tokens) {
  auto shared = std::make_shared<const Tokens>(std::move(tokens));
  const std::lock_guard lock(mutex_);
  tokens_ = std::move(shared);
}

std::shared_ptr<const Tokens> Front::tokens() const {
  const std::lock_guard lock(mutex_);
  return tokens_;
}

void Front::check_host(std::string_view host) const {
  const std::string name = host_name(host);
  const bool known = door_.any_host || is_address(name) || name == "localhost" ||
                     std::ranges::find(door_.hosts, name) != door_.hosts.end();
  if (known) return;
  throw Fault(FaultKind::kForbidden,
              fmt::format("this server does not go by the name '{}'", printable(name)), "Host");
}

void Front::look_at_header(const HttpRequest& header, const Operation& operation,
                           const Route& route) const {
  tokens()->require(operation.access, header.authorization);
  if (route.method != Method::kPost) return;
  if (!route.target.query.empty()) {
    throw Fault(FaultKind::kInvalidArgument, "POST takes its parameters from the body",
                route.target.query.front().first);
  }
  require_json(header.content_type);
}

Reply Front::other_methods(const HttpRequest& header, const Route& route,
                           const std::vector<Method>& methods) const {
  Reply reply = refusal({FaultKind::kMethodNotAllowed,
                         fmt::format("{} takes {}, not {}", printable(route.target.path),
                                     methods_text(methods), printable(header.method))});
  const bool gets = std::ranges::find(methods, Method::kGet) != methods.end();
  reply.headers += fmt::format("Allow: {}{}\r\n", methods_text(methods), gets ? ", HEAD" : "");
  return reply;
}

/// What it has found so far stands in `route` where it throws.
void Front::find_route(const HttpRequest& header, Route& route) const {
  route.target = read_target(header.target);
  const Target& target = route.target;
  check_host(target.authority.empty() ? header.host : target.authority);
  const auto method = method_of(header.method);
  const std::vector<Operation>& all = service_.operations();
  std::vector<Method> others;
  for (std::size_t o = 0; o < all.size(); ++o) {
    const auto found = match(all[o].path, target.path);
    if (!found) continue;
    if (!method || std::ranges::find(all[o].methods, *method) == all[o].methods.end()) {
      std::ranges::copy(all[o].methods, std::back_inserter(others));
      continue;
    }
    route.operation = o;
    route.method = *method;
    route.takes_body = *method == Method::kPost;
    route.parameter = found->name;
    route.value = found->value;
    look_at_header(header, all[o], route);
    route.is_probe = all[o].is_probe;
    return;
  }
  if (const PageFile* file = page_file(target.path)) {
    route.operation = service_.page_operation();
    if (method == Method::kGet) {
      route.reply = reply_with(*file, header.if_none_match);
      route.reply->operation = route.operation;
      return;
    }
    others.push_back(Method::kGet);
  }
  if (others.empty()) {
    throw Fault(FaultKind::kNotFound,
                fmt::format("there is nothing at '{}'; /openapi.json says what there is",
                            printable(target.path)));
  }
  route.reply = other_methods(header, route, others);
}

Route Front::route(const HttpRequest& header) const {
  Route route{.operation = service_.no_operation()};
  try {
    find_route(header, route);
  } catch (...) {
    route.reply = refusal(current_fault(), route.operation);
  }
  return route;
}

std::variant<Task, Reply> Front::take(const HttpRequest& request, Route& route) const {
  if (route.reply) return std::move(*route.reply);
  try {
    HttpRequest http = request;
    if (!route.target.authority.empty()) http.host = route.target.authority;
    return Task{route.operation, request_in(service_.operations()[route.operation], http, route)};
  } catch (...) {
    return refusal(current_fault(), route.operation);
  }
}

std::variant<Task, Reply> Front::take(const HttpRequest& request) const {
  Route found = route(request);
  return take(request, found);
}

Reply Front::reply_to(std::size_t operation, Outcome outcome) const {
  const Operation& asked = service_.operations()[operation];
  if (const auto* fault = std::get_if<Fault>(&outcome)) return refusal(*fault, operation);
  auto& body = std::get<std::string>(outcome);
  const int status = body.empty() && asked.status == 200 ? 202 : asked.status;
  return {status, asked.content_type, std::move(body), operation};
}

Reply Front::refusal(const Fault& fault) const { return refusal(fault, service_.no_operation()); }

Reply Front::refusal(const Fault& fault, std::size_t operation) const {
  Reply reply{status_of(fault.kind()), "application/json", body_of(fault), operation};
  if (fault.kind() == FaultKind::kUnauthorized) reply.headers += "WWW-Authenticate: Bearer\r\n";
  if (fault.kind() == FaultKind::kUnavailable || fault.kind() == FaultKind::kTooManyRequests) {
    reply.headers += "Retry-After: 1\r\n";
  }
  return reply;
}

std::string head_of(const Reply& reply, bool alive) {
  constexpr std::string_view kAlways =
      "X-Content-Type-Options: nosniff\r\n"
      "Referrer-Policy: no-referrer\r\n"
      "Cross-Origin-Resource-Policy: same-origin\r\n";
  constexpr std::string_view kNoPage =
      "Content-Security-Policy: default-src 'none'; frame-ancestors 'none'\r\n"
      "Cache-Control: no-store\r\n";
  std::string bytes = fmt::format(
      "HTTP/1.1 {} {}\r\nDate: {}\r\nContent-Type: {}\r\nContent-Length: {}\r\n", reply.status,
      reason_of(reply.status), http_date(), reply.content_type, reply.body.size());
  bytes += kAlways;
  const bool own_policy = reply.headers.find("Content-Security-Policy") != std::string::npos;
  if (!own_policy) bytes += kNoPage;
  bytes += reply.headers;
  bytes += alive ? "\r\n" : "Connection: close\r\n\r\n";
  return bytes;
}

std::string bytes_of(const Reply& reply, bool alive, bool head) {
  return head_of(reply, alive) + (head ? "" : reply.body);
}

}  // namespace likewise::server
