// SPDX-License-Identifier: Apache-2.0
/// POST /v1/similar.
#include <algorithm>
#include <iterator>
#include <numeric>
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

/// Nothing of a user who was erased.
[[nodiscard]] std::optional<Index> row_in(const Service& service, const ServedModel& model,
                                          bool of_items, const std::string& id) {
  if (of_items) return model.model().items.find(id);
  return service.is_erased(model, id) ? std::nullopt : model.model().users.find(id);
}

/// The first n of a list that are not erased.
[[nodiscard]] AnswerList without_erased(const Service& service, const ServedModel& model,
                                        AnswerList list, Index n) {
  std::erase_if(list.answers,
                [&](const Answer& answer) { return service.is_erased(model, answer.id); });
  if (std::ssize(list.answers) > n) list.answers.resize(static_cast<std::size_t>(n));
  return list;
}

/// `model`: its name, where there are several.
[[nodiscard]] std::string written(const AnswerList& list, const std::string& model, bool of_items) {
  JsonText text;
  text.begin_object().key(of_items ? "item" : "user").value(list.asked);
  if (!model.empty()) text.key("served_by").value(model);
  text.key(of_items ? "items" : "users").begin_array();
  for (const Answer& answer : list.answers) {
    text.begin_object().key(of_items ? "item" : "user").value(answer.id);
    if (!answer.title.empty()) text.key("title").value(answer.title);
    text.key("score").value(answer.score).end_object();
  }
  text.end_array().end_object();
  return text.take();
}

/// A request, and its lists in JSON: one for each id, empty where the id is left out.
struct Alike {
  const Service& service;
  const Json& request;
  bool of_items = request.contains("items");
  Index n = request.value("n", kUsualN);
  std::vector<std::string> ids = ids_of(request[of_items ? "items" : "users"]);
  std::vector<std::string> lists = std::vector<std::string>(ids.size());
  LeftOut left_out{};

  /// The places of the ids that each model answers.
  [[nodiscard]] std::vector<std::vector<std::size_t>> places() const {
    if (!of_items) return places_by_model(service, request, ids);
    std::vector<std::vector<std::size_t>> all(service.split().size());
    std::vector<std::size_t>& some = all[model_for_anyone(service, request)];
    some.resize(ids.size());
    std::iota(some.begin(), some.end(), std::size_t{0});
    return all;
  }

  /// Rows of a model; those that it does not know are no places any more.
  [[nodiscard]] std::vector<Index> rows_in(const ServedModel& model,
                                           std::vector<std::size_t>& places) {
    std::vector<Index> rows;
    std::erase_if(places, [&](std::size_t place) {
      const auto row = row_in(service, model, of_items, ids[place]);
      if (row) {
        rows.push_back(*row);
      } else {
        refuse_or_count(ids[place], of_items ? "item" : "user", of_items ? "items" : "users",
                        unknown_of(request), of_items ? left_out.items : left_out.users);
      }
      return !row;
    });
    return rows;
  }

  void ask(const ServedModel& model, const std::string& name, std::vector<std::size_t> places) {
    SimilarQuestion question;
    question.side = of_items ? Side::kItems : Side::kUsers;
    question.n = of_items ? n : n + static_cast<Index>(service.erased_users());
    question.metric = metric_of(request);
    question.rows = rows_in(model, places);
    auto place = places.begin();
    model.queries().similar(question, [&](const AnswerList& list) {
      lists[*place++] =
          written(of_items ? list : without_erased(service, model, list, n), name, of_items);
    });
  }
};

[[nodiscard]] std::string similar(const Service& service, const Json& request) {
  Alike alike{service, request};
  check_answers(std::ssize(alike.ids), alike.n, service.limits().answers);
  std::string fingerprints;
  std::vector<std::vector<std::size_t>> places = alike.places();
  for (std::size_t m = 0; m < places.size(); ++m) {
    if (places[m].empty()) continue;
    const auto model = service.model(m);
    add_fingerprint(fingerprints, *model);
    alike.ask(*model, service.split().names()[m], std::move(places[m]));
  }
  JsonText text;
  text.begin_object().key("model").value(fingerprints).key("lists").begin_array();
  for (const std::string& list : alike.lists) {
    if (!list.empty()) text.raw(list);
  }
  text.end_array();
  write_left_out(text, alike.left_out);
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
