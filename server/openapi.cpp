// SPDX-License-Identifier: Apache-2.0
#include "server/openapi.h"

#include <algorithm>
#include <set>

#include <fmt/format.h>

#include "likewise/version.h"

namespace likewise::server {
namespace {

[[nodiscard]] Json fault_schema() {
  Json kinds = Json::array();
  for (int k = 0; k <= static_cast<int>(FaultKind::kStorageFull); ++k) {
    kinds.push_back(name_of(static_cast<FaultKind>(k)));
  }
  const Json error =
      object_schema("", {{"kind", {{"type", "string"}, {"enum", std::move(kinds)}}, true},
                         {"message", text_schema("One sentence"), true},
                         {"parameter", text_schema("What is to blame")}});
  return object_schema("", {{"error", error, true}});
}

[[nodiscard]] Json content(const std::string& type, Json schema) {
  return {{type, {{"schema", std::move(schema)}}}};
}

[[nodiscard]] Json reference(const char* to) { return {{"$ref", to}}; }

/// The statuses that are no answer.
[[nodiscard]] std::set<int> fault_statuses(const Operation& operation, Method method) {
  std::set<int> statuses{400, 403, 405, 408, 413, 414, 429, 431, 500, 503};
  if (operation.access != Access::kAnyone) statuses.insert(401);
  if (method == Method::kPost) statuses.insert(415);
  for (const FaultKind kind : operation.faults) statuses.insert(status_of(kind));
  return statuses;
}

[[nodiscard]] Json responses(const Operation& operation, Method method) {
  Json all = Json::object();
  all[std::to_string(operation.status)] = {
      {"description", "The answer"},
      {"content", content(operation.content_type, operation.answer)}};
  for (const int status : fault_statuses(operation, method)) {
    all[std::to_string(status)] = reference("#/components/responses/fault");
  }
  return all;
}

[[nodiscard]] bool in_path(const Operation& operation, const std::string& member) {
  return operation.path.find("{" + member + "}") != std::string::npos;
}

[[nodiscard]] bool is_required(const Json& parameters, const std::string& member) {
  return std::ranges::find(parameters["required"], Json(member)) != parameters["required"].end();
}

[[nodiscard]] Json address_parameters(const Operation& operation, Method method) {
  Json all = Json::array();
  for (const auto& [member, schema] : operation.parameters["properties"].items()) {
    if (in_path(operation, member)) {
      all.push_back({{"name", member}, {"in", "path"}, {"required", true}, {"schema", schema}});
      continue;
    }
    const std::string name = method == Method::kPost ? std::string() : query_name(member, schema);
    if (name.empty()) continue;
    all.push_back({{"name", name},
                   {"in", "query"},
                   {"required", is_required(operation.parameters, member)},
                   {"schema", schema}});
  }
  return all;
}

[[nodiscard]] Json entry(const Operation& operation, Method method) {
  Json made{{"operationId", method == operation.methods.front()
                                ? operation.name
                                : fmt::format("{}_{}", operation.name, name_of(method))},
            {"summary", operation.summary},
            {"parameters", address_parameters(operation, method)},
            {"responses", responses(operation, method)}};
  if (method == Method::kPost) {
    made["requestBody"] = {{"required", true},
                           {"content", content("application/json", operation.parameters)}};
  }
  if (operation.access == Access::kAnyone) made["security"] = Json::array();
  return made;
}

[[nodiscard]] std::string key_of(Method method) {
  if (method == Method::kGet) return "get";
  return method == Method::kPost ? "post" : "delete";
}

}  // namespace

std::string query_name(const std::string& member, const Json& schema) {
  if (!schema.contains("type") || schema["type"] != "array") return member;
  if (schema["items"].value("type", Json()) == "object") return {};
  return member.ends_with('s') ? member.substr(0, member.size() - 1) : member;
}

Json openapi(const std::vector<Operation>& operations) {
  Json paths = Json::object();
  for (const Operation& operation : operations) {
    if (operation.read) continue;  // another protocol, with a description of its own
    for (const Method method : operation.methods) {
      paths[operation.path][key_of(method)] = entry(operation, method);
    }
  }
  const Json bearer{{"type", "http"}, {"scheme", "bearer"}};
  const Json fault{
      {"description", "Why there is no answer"},
      {"content", content("application/json", reference("#/components/schemas/fault"))}};
  return {{"openapi", "3.1.0"},
          {"info", {{"title", "likewise serve"}, {"version", kVersion}}},
          {"paths", std::move(paths)},
          {"security", {Json::object(), {{"token", Json::array()}}}},
          {"components",
           {{"schemas", {{"fault", fault_schema()}}},
            {"responses", {{"fault", fault}}},
            {"securitySchemes", {{"token", bearer}}}}}};
}

}  // namespace likewise::server
