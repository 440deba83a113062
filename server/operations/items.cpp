// SPDX-License-Identifier: Apache-2.0
/// GET and POST /v1/items.
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

constexpr Index kUsualFound = 20;
constexpr Offset kLongestQuery = 200;

[[nodiscard]] std::vector<Index> found(const ServedModel& model, const Json& request,
                                       LeftOut& left_out) {
  if (request.contains("items")) {
    return known_rows(model.model().items, ids_of(request["items"]), "item", "items",
                      unknown_of(request), left_out.items);
  }
  return model.titles().find(request.value("query", std::string()),
                             request.value("n", kUsualFound));
}

[[nodiscard]] std::string items(const Service& service, const Json& request) {
  const bool named = request.contains("items");
  if (named && (request.contains("query") || request.contains("n"))) {
    throw Fault(FaultKind::kInvalidArgument, "items are named: query and n would do nothing",
                "items");
  }
  if (!named && request.contains("unknown")) {
    throw Fault(FaultKind::kInvalidArgument, "unknown would do nothing: it needs items", "unknown");
  }
  const auto model = service.model(model_for_anyone(service, request));
  LeftOut left_out;
  JsonText text;
  text.begin_object().key("model").value(model->fingerprint()).key("items").begin_array();
  for (const Index item : found(*model, request, left_out)) {
    text.begin_object();
    write_item(text, model->model().items.name(item), model->queries().titles().of(item));
    text.key("popularity").value(model->titles().weight(item)).end_object();
  }
  text.end_array();
  write_left_out(text, left_out);
  text.end_object();
  return text.take();
}

}  // namespace

Operation items_operation(const Limits& limits) {
  const Json entry =
      object_schema("", {{"item", text_schema(""), true},
                         {"title", text_schema("")},
                         {"popularity", count_schema("How many users have it"), true}});
  return {.name = "items",
          .summary =
              "Search items by words of their titles, or name some; without either, the "
              "most popular",
          .methods = {Method::kGet, Method::kPost},
          .path = "/v1/items",
          .parameters = object_schema(
              "", {{"query", text_schema("Words that a title or an id holds, each of them; case "
                                         "and accents do not matter",
                                         kLongestQuery)},
                   {"items",
                    list_schema("In place of a query: these items", id_schema(""), limits.batch)},
                   unknown_member(),
                   n_member(limits, kUsualFound)}),
          .answer = object_schema(
              "", {fingerprint_member(),
                   {"items", list_schema("Best first, or as they were named", entry), true},
                   left_out_member()}),
          .faults = question_faults(),
          .run = items,
          .of_one_model = true,
          .tool = true};
}

}  // namespace likewise::server
