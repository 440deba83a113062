// SPDX-License-Identifier: Apache-2.0
/// POST /v1/similar.
#include <algorithm>
#include <iterator>
#include <utility>

#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

[[nodiscard]] std::optional<SimilarityMetric> metric_of(const Json& request) {
  if (!request.contains("metric")) return {};
  const auto* const found =
      std::ranges::find(kSimilarityMetricNames, request["metric"].get_ref<const std::string&>());
  return static_cast<SimilarityMetric>(found - std::begin(kSimilarityMetricNames));
}

void write_alike(JsonText& text, const AnswerList& list, bool of_items) {
  text.begin_object().key(of_items ? "item" : "user").value(list.asked);
  text.key(of_items ? "items" : "users").begin_array();
  for (const Answer& answer : list.answers) {
    text.begin_object().key(of_items ? "item" : "user").value(answer.id);
    if (!answer.title.empty()) text.key("title").value(answer.title);
    text.key("score").value(answer.score).end_object();
  }
  text.end_array().end_object();
}

[[nodiscard]] std::string similar(const Service& service, const Json& request) {
  const auto model = service.model();
  const bool of_items = request.contains("items");
  const char* parameter = of_items ? "items" : "users";
  LeftOut left_out;
  SimilarQuestion question;
  question.side = of_items ? Side::kItems : Side::kUsers;
  question.n = request.value("n", kUsualN);
  question.metric = metric_of(request);
  question.rows = known_rows(of_items ? model->model().items : model->model().users,
                             ids_of(request[parameter]), of_items ? "item" : "user", parameter,
                             unknown_of(request), of_items ? left_out.items : left_out.users);
  check_answers(std::ssize(request[parameter]), question.n, service.limits().answers);
  JsonText text;
  text.begin_object().key("model").value(model->fingerprint()).key("lists").begin_array();
  model->queries().similar(question,
                           [&](const AnswerList& list) { write_alike(text, list, of_items); });
  text.end_array();
  write_left_out(text, left_out);
  text.end_object();
  return text.take();
}

[[nodiscard]] Json similar_parameters(const Limits& limits) {
  std::vector<std::string> metrics(std::begin(kSimilarityMetricNames),
                                   std::end(kSimilarityMetricNames));
  return with_one_of(
      object_schema("",
                    {{"items", list_schema("Items of the model", id_schema(""), limits.batch)},
                     {"users", list_schema("Users of the model", id_schema(""), limits.batch)},
                     n_member(limits, kUsualN),
                     {"metric", choice_schema("How factors are compared: cosine unless given. Only "
                                              "for models with factors",
                                              std::move(metrics))},
                     unknown_member()}),
      {"items", "users"});
}

[[nodiscard]] Json similar_answers() {
  const Json entry = object_schema("", {{"item", text_schema("")},
                                        {"user", text_schema("")},
                                        {"title", text_schema("")},
                                        {"score", number_schema(""), true}});
  const Json list = object_schema("", {{"item", text_schema("What was asked about")},
                                       {"user", text_schema("Who was asked about")},
                                       {"items", list_schema("The nearest first", entry)},
                                       {"users", list_schema("The nearest first", entry)}});
  return object_schema("", {fingerprint_member(),
                            {"lists", list_schema("In the order of the request", list), true},
                            left_out_member()});
}

}  // namespace

Operation similar_operation(const Limits& limits) {
  return {.name = "similar",
          .summary = "List items or users that are alike",
          .methods = {Method::kGet, Method::kPost},
          .path = "/v1/similar",
          .parameters = similar_parameters(limits),
          .answer = similar_answers(),
          .faults = question_faults(),
          .run = similar,
          .tool = true};
}

}  // namespace likewise::server
