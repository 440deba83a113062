// SPDX-License-Identifier: Apache-2.0
/// POST /v1/explain.
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

/// With what the user did since the model was made.
[[nodiscard]] FoldInRow history_in(const Json& request, const Service& service,
                                   const ServedModel& served) {
  const Model& model = served.model();
  if (request.contains("user")) {
    const std::string user = id_of(request["user"]);
    Who who = service.who(served, user);
    if (auto* row = std::get_if<FoldInRow>(&who)) return std::move(*row);
    if (const Index* known = std::get_if<Index>(&who)) return history_of(model, *known);
    refuse_id("user", user, "user");
  }
  Visitors visitors;
  Offset left_out = 0;
  add_visitor(visitors, model, "visitor", request["likes"], UnknownIds::kRefuse, left_out);
  return std::move(visitors.rows.front());
}

[[nodiscard]] std::string explain(const Service& service, const Json& request) {
  const auto model =
      service.model(request.contains("user") ? model_for(service, request, id_of(request["user"]))
                                             : model_for_anyone(service, request));
  const Index item = known_row(model->model().items, id_of(request["item"]), "item", "item");
  const Why why = model->queries().why(history_in(request, service, *model), item);
  JsonText text;
  text.begin_object().key("model").value(model->fingerprint());
  write_item(text, why.item, why.title);
  text.key("score").value(why.score).key("baseline").value(why.baseline);
  write_reasons(text, why.reasons);
  text.end_object();
  return text.take();
}

[[nodiscard]] Json explain_parameters(const Limits& limits) {
  return with_one_of(object_schema("", {{"user", id_schema("A user of the model")},
                                        {"likes", likes_schema(limits)},
                                        {"item", id_schema("The item to explain"), true}}),
                     {"user", "likes"});
}

}  // namespace

Operation explain_operation(const Limits& limits) {
  return {.name = "explain",
          .summary = "Say which past items an item's score comes from",
          .methods = {Method::kGet, Method::kPost},
          .path = "/v1/explain",
          .parameters = explain_parameters(limits),
          .answer = object_schema(
              "", {fingerprint_member(),
                   {"item", text_schema(""), true},
                   {"title", text_schema("")},
                   {"score", number_schema("Baseline and shares together"), true},
                   {"baseline", number_schema("The part that no past item causes"), true},
                   {"reasons", reasons_schema(), true}}),
          .faults = question_faults(),
          .run = explain,
          .of_one_model = true,
          .tool = true};
}

}  // namespace likewise::server
