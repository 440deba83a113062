// SPDX-License-Identifier: Apache-2.0
#include "server/operation.h"

#include "server/mcp/http.h"
#include "server/operations/operations.h"

namespace likewise::server {
namespace {

[[nodiscard]] Outcome run_one(const Service& service, const Operation& operation,
                              const Json& request) {
  try {
    return operation.run(service, request);
  } catch (...) {
    return current_fault();
  }
}

}  // namespace

std::string_view name_of(Method method) {
  if (method == Method::kGet) return "GET";
  return method == Method::kPost ? "POST" : "DELETE";
}

std::vector<Operation> make_operations(const Limits& limits, const Split& split) {
  std::vector<Operation> all{recommend_operation(limits),
                             similar_operation(limits),
                             predict_operation(limits),
                             explain_operation(limits),
                             items_operation(limits),
                             events_operation(limits),
                             user_operation(),
                             erase_operation(),
                             model_operation(),
                             health_operation(),
                             ready_operation(),
                             metrics_operation(),
                             openapi_operation(),
                             mcp::mcp_operation()};
  if (!split.is_of_one()) {
    for (Operation& one : all) let_name_a_model(one, split.names());
  }
  return all;
}

Outcome answer(const Service& service, const Operation& operation, const Json& request) {
  try {
    if (!operation.read) check(operation.parameters, request);
    return operation.run(service, request);
  } catch (...) {
    return current_fault();
  }
}

std::vector<Outcome> answer_checked(const Service& service, const Operation& operation,
                                    std::span<const Json* const> requests) {
  if (operation.run_together && requests.size() > 1) {
    return operation.run_together(service, requests);
  }
  std::vector<Outcome> outcomes;
  for (const Json* request : requests) outcomes.push_back(run_one(service, operation, *request));
  return outcomes;
}

}  // namespace likewise::server
