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

/// Users who were erased are neither asked about nor told.
[[nodiscard]] std::vector<Index> users_in(const Json& request, const Service& service,
                                          const ServedModel& model, Offset& left_out) {
  const UnknownIds unknown = unknown_of(request);
  std::vector<std::string> users = ids_of(request["users"]);
  std::erase_if(users, [&](const std::string& user) {
    const bool erased = service.is_erased(model, user);
    if (erased) refuse_or_count(user, "user", "users", unknown, left_out);
    return erased;
  });
  return known_rows(model.model().users, users, "user", "users", unknown, left_out);
}

/// The first n of a list that are not erased.
[[nodiscard]] AnswerList without_erased(const Service& service, const ServedModel& model,
                                        AnswerList list, Index n) {
  std::erase_if(list.answers,
                [&](const Answer& answer) { return service.is_erased(model, answer.id); });
  if (std::ssize(list.answers) > n) list.answers.resize(static_cast<std::size_t>(n));
  return list;
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
  const auto model = service.model(model_for_anyone(service, request));
  const bool of_items = request.contains("items");
  LeftOut left_out;
  SimilarQuestion question;
  question.side = of_items ? Side::kItems : Side::kUsers;
  const Index n = request.value("n", kUsualN);
  question.n = of_items ? n : n + static_cast<Index>(service.erased_users());
  question.metric = metric_of(request);
  question.rows = of_items ? known_rows(model->model().items, ids_of(request["items"]), "item",
                                        "items", unknown_of(request), left_out.items)
                           : users_in(request, service, *model, left_out.users);
  check_answers(std::ssize(request[of_items ? "items" : "users"]), n, service.limits().answers);
  JsonText text;
  text.begin_object().key("model").value(model->fingerprint()).key("lists").begin_array();
  model->queries().similar(question, [&](const AnswerList& list) {
    write_alike(text, of_items ? list : without_erased(service, *model, list, n), of_items);
  });
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
          .of_one_model = true,
          .tool = true};
}

}  // namespace likewise::server
