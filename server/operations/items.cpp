// SPDX-License-Identifier: Apache-2.0
/// GET /v1/items.
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

constexpr Index kUsualFound = 20;
constexpr Offset kLongestQuery = 200;

[[nodiscard]] std::vector<Index> found(const ServedModel& model, const Json& request) {
  if (request.contains("item")) {
    return {known_row(model.model().items, id_of(request["item"]), "item", "item")};
  }
  return model.titles().find(request.value("query", std::string()),
                             request.value("n", kUsualFound));
}

[[nodiscard]] std::string items(const Service& service, const Json& request) {
  if (request.contains("item") && (request.contains("query") || request.contains("n"))) {
    throw Fault(FaultKind::kInvalidArgument, "item names one item: query and n would do nothing",
                "item");
  }
  const auto model = service.model(model_for_anyone(service, request));
  JsonText text;
  text.begin_object().key("model").value(model->fingerprint()).key("items").begin_array();
  for (const Index item : found(*model, request)) {
    text.begin_object();
    write_item(text, model->model().items.name(item), model->queries().titles().of(item));
    text.key("popularity").value(model->titles().weight(item)).end_object();
  }
  text.end_array().end_object();
  return text.take();
}

}  // namespace

Operation items_operation(const Limits& limits) {
  const Json entry =
      object_schema("", {{"item", text_schema(""), true},
                         {"title", text_schema("")},
                         {"popularity", count_schema("How many users have it"), true}});
  return {.name = "items",
          .summary = "Search items by words of their titles; without a query, the most popular",
          .methods = {Method::kGet},
          .path = "/v1/items",
          .parameters = object_schema(
              "", {{"query", text_schema("Words that a title or an id holds, each of them; case "
                                         "and accents do not matter",
                                         kLongestQuery)},
                   {"item", id_schema("In place of a query: this item alone")},
                   n_member(limits, kUsualFound)}),
          .answer = object_schema(
              "", {fingerprint_member(), {"items", list_schema("Best first", entry), true}}),
          .faults = question_faults(),
          .run = items,
          .of_one_model = true,
          .tool = true};
}

}  // namespace likewise::server
