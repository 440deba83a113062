// SPDX-License-Identifier: Apache-2.0
/// POST /v1/predict.
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

/// -1 where it is unknown, which is counted.
[[nodiscard]] Index row_or_none(const IdMap& ids, const Json& id, Offset& left_out) {
  const auto row = ids.find(id_of(id));
  left_out += row ? 0 : 1;
  return row.value_or(-1);
}

[[nodiscard]] std::string predict(const Service& service, const Json& request) {
  const auto model = service.model();
  LeftOut left_out;
  std::vector<Index> users;
  std::vector<Index> items;
  for (const Json& pair : request["pairs"]) {
    users.push_back(row_or_none(model->model().users, pair[0], left_out.users));
    items.push_back(row_or_none(model->model().items, pair[1], left_out.items));
  }
  const std::vector<float> values = model->queries().recommender().predict(users, items);
  JsonText text;
  text.begin_object().key("model").value(model->fingerprint()).key("values").begin_array();
  for (const float value : values) text.value(value);
  text.end_array();
  write_left_out(text, left_out);
  text.end_object();
  return text.take();
}

[[nodiscard]] Json predict_parameters(const Limits& limits) {
  Json pair = list_schema("A user and an item", id_schema(""), 2);
  pair["minItems"] = 2;
  return object_schema(
      "", {{"pairs",
            list_schema("A user or an item that the model does not know is predicted from the "
                        "other side",
                        std::move(pair), limits.pairs),
            true}});
}

}  // namespace

Operation predict_operation(const Limits& limits) {
  return {.name = "predict",
          .summary = "Predict the value of pairs of a user and an item",
          .methods = {Method::kPost},
          .path = "/v1/predict",
          .parameters = predict_parameters(limits),
          .answer = object_schema(
              "", {fingerprint_member(),
                   {"values", list_schema("One for each pair", number_schema("")), true},
                   left_out_member()}),
          .run = predict,
          .tool = true};
}

}  // namespace likewise::server
