// SPDX-License-Identifier: Apache-2.0
/// POST /v1/predict.
#include <map>
#include <span>
#include <utility>

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

/// Pairs that one model predicts, in its rows; and those of users who did something since, by user.
struct AskedPairs {
  std::vector<std::size_t> places;  ///< in the request
  std::vector<Index> users;
  std::vector<Index> items;
  struct Live {
    FoldInRow row;
    std::vector<std::size_t> pairs;  ///< with an item that is known
  };
  std::vector<Live> live;
};

[[nodiscard]] AskedPairs pairs_in(const Json& request, std::vector<std::size_t> places,
                                  const Service& service, const ServedModel& model,
                                  LeftOut& left_out) {
  AskedPairs pairs;
  std::map<std::string, Who> users;
  std::map<std::string, std::size_t> live;
  for (const std::size_t place : places) {
    const Json& pair = request["pairs"][place];
    const std::string user = id_of(pair[0]);
    const auto [at, fresh] = users.try_emplace(user);
    if (fresh) at->second = service.who(model, user);
    const Who& who = at->second;
    const Index* row = std::get_if<Index>(&who);
    left_out.users += std::holds_alternative<std::monostate>(who) ? 1 : 0;
    pairs.users.push_back(row == nullptr ? -1 : *row);
    pairs.items.push_back(row_or_none(model.model().items, pair[1], left_out.items));
    if (!std::holds_alternative<FoldInRow>(who) || pairs.items.back() < 0) continue;
    const auto [row_of, first] = live.emplace(user, pairs.live.size());
    if (first) pairs.live.push_back({std::get<FoldInRow>(who), {}});
    pairs.live[row_of->second].pairs.push_back(pairs.items.size() - 1);
  }
  pairs.places = std::move(places);
  return pairs;
}

[[nodiscard]] std::vector<float> predicted(const Recommender& recommender,
                                           const AskedPairs& pairs) {
  std::vector<float> values = recommender.predict(pairs.users, pairs.items);
  for (const AskedPairs::Live& user : pairs.live) {
    std::vector<Index> items;
    for (const std::size_t pair : user.pairs) items.push_back(pairs.items[pair]);
    const std::vector<float> own = recommender.predict_new(std::span(&user.row, 1), items);
    for (std::size_t p = 0; p < own.size(); ++p) values[user.pairs[p]] = own[p];
  }
  return values;
}

[[nodiscard]] std::vector<std::string> users_of(const Json& pairs) {
  std::vector<std::string> users;
  users.reserve(pairs.size());
  for (const Json& pair : pairs) users.push_back(id_of(pair[0]));
  return users;
}

[[nodiscard]] std::string predict(const Service& service, const Json& request) {
  LeftOut left_out;
  std::vector<float> values(request["pairs"].size());
  std::string fingerprints;
  std::vector<std::vector<std::size_t>> places =
      places_by_model(service, request, users_of(request["pairs"]));
  for (std::size_t m = 0; m < places.size(); ++m) {
    if (places[m].empty()) continue;
    const auto model = service.model(m);
    add_fingerprint(fingerprints, *model);
    const AskedPairs pairs = pairs_in(request, std::move(places[m]), service, *model, left_out);
    const std::vector<float> some = predicted(model->queries().recommender(), pairs);
    for (std::size_t p = 0; p < some.size(); ++p) values[pairs.places[p]] = some[p];
  }
  JsonText text;
  text.begin_object().key("model").value(fingerprints).key("values").begin_array();
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
          .of_one_model = true,
          .tool = true};
}

}  // namespace likewise::server
