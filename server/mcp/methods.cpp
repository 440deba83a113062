// SPDX-License-Identifier: Apache-2.0
#include "server/mcp/methods.h"

#include <algorithm>
#include <array>
#include <string_view>

#include <fmt/format.h>

#include "likewise/error.h"
#include "likewise/version.h"
#include "server/json_text.h"

namespace likewise::server::mcp {
namespace {

constexpr std::string_view kModelUri = "likewise://model";
constexpr std::string_view kInstructions =
    "Recommendations of one trained model. The tool items finds the ids of items by their titles; "
    "the other tools take ids. Scores order the answers of one model, and are no percentages.";

struct Call {
  const Service& service;
  Session& session;
  const Json& params;
};

/// A text that has to be among the parameters.
[[nodiscard]] const std::string& text_of(const Json& params, const std::string& name) {
  const auto found = params.find(name);
  if (found == params.end() || !found->is_string()) {
    throw RpcError(kInvalidParams, fmt::format("{} must be there, and a text", name));
  }
  return found->get_ref<const std::string&>();
}

/// Lists come whole: no answer has a cursor.
void refuse_cursor(const Json& params) {
  if (params.contains("cursor")) {
    throw RpcError(kInvalidParams, "there is no such cursor: lists come whole");
  }
}

[[nodiscard]] const Operation& operation_called(const Service& service, std::string_view name) {
  return *std::ranges::find(service.operations(), name, &Operation::name);
}

[[nodiscard]] const Operation& tool_called(const Service& service, const std::string& name) {
  std::string names;
  for (const Operation& operation : service.operations()) {
    if (!operation.tool) continue;
    if (operation.name == name) return operation;
    names += (names.empty() ? "" : ", ") + operation.name;
  }
  throw RpcError(kInvalidParams,
                 fmt::format("there is no tool '{}', but {}", printable(name), names));
}

/// ". Exactly one of users, likes": what oneOf says.
[[nodiscard]] std::string one_of_text(const Json& parameters) {
  const auto forms = parameters.find("oneOf");
  if (forms == parameters.end()) return {};
  std::string names;
  for (const Json& form : *forms) {
    names += (names.empty() ? "" : ", ") + form["required"][0].get<std::string>();
  }
  return ". Exactly one of " + names;
}

[[nodiscard]] Json tool_entry(const Operation& operation, const Session& session) {
  // Some models take no tool whose schema has oneOf at its top: words say it to all of them, and
  // a call is checked by the whole schema.
  Json parameters = operation.parameters;
  parameters.erase("oneOf");
  Json entry{{"name", operation.name},
             {"description", operation.summary + one_of_text(operation.parameters)},
             {"inputSchema", std::move(parameters)},
             {"annotations",
              {{"readOnlyHint", operation.access != Access::kWrite}, {"openWorldHint", false}}}};
  if (session.structured()) entry["outputSchema"] = operation.answer;
  return entry;
}

[[nodiscard]] std::string initialize(const Call& call) {
  const std::string& asked = text_of(call.params, "protocolVersion");
  call.session.version = is_version(asked) ? asked : std::string(kVersions.front());
  return Json{{"protocolVersion", call.session.version},
              {"capabilities", {{"tools", Json::object()}, {"resources", Json::object()}}},
              {"serverInfo", {{"name", "likewise"}, {"version", kVersion}}},
              {"instructions", kInstructions}}
      .dump();
}

[[nodiscard]] std::string ping(const Call&) { return "{}"; }

[[nodiscard]] std::string list_tools(const Call& call) {
  refuse_cursor(call.params);
  Json tools = Json::array();
  for (const Operation& operation : call.service.operations()) {
    if (operation.tool) tools.push_back(tool_entry(operation, call.session));
  }
  return Json{{"tools", std::move(tools)}}.dump();
}

/// The answer of a tool, or its sentence of refusal, which whoever called can act on.
[[nodiscard]] std::string tool_result(const Outcome& outcome, bool structured) {
  const auto* fault = std::get_if<Fault>(&outcome);
  const std::string body =
      fault ? printable_message(fault->what()) : std::get<std::string>(outcome);
  JsonText text;
  text.begin_object().key("content").begin_array().begin_object();
  text.key("type").value("text").key("text").value(body).end_object().end_array();
  if (structured && fault == nullptr) text.key("structuredContent").raw(body);
  text.key("isError").value(fault != nullptr).end_object();
  return text.take();
}

[[nodiscard]] std::string call_tool(const Call& call) {
  const Operation& tool = tool_called(call.service, text_of(call.params, "name"));
  return tool_result(answer(call.service, tool, call.params.value("arguments", Json::object())),
                     call.session.structured());
}

[[nodiscard]] std::string list_resources(const Call& call) {
  refuse_cursor(call.params);
  const Operation& model = operation_called(call.service, "model");
  return Json{{"resources",
               {{{"uri", kModelUri},
                 {"name", model.name},
                 {"description", model.summary},
                 {"mimeType", model.content_type}}}}}
      .dump();
}

[[nodiscard]] std::string read_resource(const Call& call) {
  const std::string& uri = text_of(call.params, "uri");
  if (uri != kModelUri) {
    throw RpcError(kResourceNotFound,
                   fmt::format("there is no resource '{}', but {}", printable(uri), kModelUri));
  }
  const Operation& model = operation_called(call.service, "model");
  JsonText text;
  text.begin_object().key("contents").begin_array().begin_object();
  text.key("uri").value(kModelUri).key("mimeType").value(model.content_type);
  text.key("text").value(model.run(call.service, Json::object()));
  text.end_object().end_array().end_object();
  return text.take();
}

struct MethodRow {
  std::string_view name;
  std::string (*run)(const Call&);
  bool before_begin = false;  ///< whether it may come before `initialize`
};

constexpr std::array<MethodRow, 6> kMethods = {{{"initialize", initialize, true},
                                                {"ping", ping, true},
                                                {"tools/list", list_tools},
                                                {"tools/call", call_tool},
                                                {"resources/list", list_resources},
                                                {"resources/read", read_resource}}};

}  // namespace

std::string run_method(const Service& service, Session& session, const std::string& method,
                       const Json& params) {
  const auto* found = std::ranges::find(kMethods, method, &MethodRow::name);
  if (found == kMethods.end()) {
    throw RpcError(kMethodNotFound, fmt::format("there is no method '{}'", printable(method)));
  }
  if (!session.begun() && !found->before_begin) {
    throw RpcError(kInvalidRequest, fmt::format("initialize comes before {}", method));
  }
  return found->run({service, session, params});
}

}  // namespace likewise::server::mcp
