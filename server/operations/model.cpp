// SPDX-License-Identifier: Apache-2.0
/// What the server says of itself: GET /v1/model, /healthz, /readyz, /metrics, /openapi.json.
#include <memory>
#include <mutex>
#include <string>

#include "likewise/parameters.h"
#include "server/openapi.h"
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

void write_parameters(JsonText& text, const TrainingParams& params) {
  text.key("parameters").begin_object();
  for (const auto& [name, value] : effective_parameters(params)) text.key(name).value(value);
  text.end_object();
}

void write_ratings(JsonText& text, const std::optional<RatingRange>& ratings) {
  if (!ratings) return;
  text.key("scale").begin_object().key("lowest").value(ratings->lowest);
  text.key("highest").value(ratings->highest).end_object();
}

/// The limits of questions, so that a client need not run into them.
void write_limits(JsonText& text, const Limits& limits) {
  text.key("limits").begin_object();
  text.key("n").value(limits.n).key("batch").value(limits.batch);
  text.key("likes").value(limits.likes).key("pairs").value(limits.pairs);
  text.key("answers").value(limits.answers).key("explained").value(limits.explained);
  text.key("reasons").value(limits.reasons).key("events").value(limits.events).end_object();
}

[[nodiscard]] Json limits_schema() {
  return object_schema("What a request may ask for",
                       {{"n", count_schema("Answers per list"), true},
                        {"batch", count_schema("Users, items or visitors"), true},
                        {"likes", count_schema("Of a visitor, and items to allow or deny"), true},
                        {"pairs", count_schema("Of a prediction"), true},
                        {"answers", count_schema("Lists times n"), true},
                        {"explained", count_schema("Lists times n, with reasons"), true},
                        {"reasons", count_schema("Of an answer"), true},
                        {"events", count_schema("To store"), true}});
}

/// All models that are served, where there are several.
void write_models(JsonText& text, const Service& service) {
  const Split& split = service.split();
  if (split.is_of_one()) return;
  text.key("models").begin_array();
  for (std::size_t m = 0; m < split.size(); ++m) {
    const auto served = service.model(m);
    const Follows::Count count = service.follows().count(m);
    text.begin_object().key("name").value(split.names()[m]).key("share").value(split.share(m));
    text.key("model").value(served->fingerprint());
    text.key("algorithm").value(served->model().algorithm());
    text.key("offered").value(count.offered).key("followed").value(count.followed).end_object();
  }
  text.end_array();
}

[[nodiscard]] std::string describe_model(const Service& service, const Json& request) {
  const auto served = service.model(model_for_anyone(service, request));
  const Model& model = served->model();
  JsonText text;
  text.begin_object().key("model").value(served->fingerprint());
  text.key("algorithm").value(model.algorithm());
  text.key("feedback").value(kFeedbackNames[static_cast<std::size_t>(model.feedback())]);
  write_ratings(text, served->ratings());
  text.key("users").value(model.users.size()).key("items").value(model.items.size());
  text.key("interactions").value(model.history.view().nnz());
  text.key("has_titles").value(!served->queries().titles().empty());
  text.key("can").begin_array();
  for (const std::string& name : served->abilities().names()) text.value(name);
  text.end_array();
  write_parameters(text, model.params);
  text.key("trained").value(model.provenance.created);
  text.key("source").value(model.provenance.source);
  text.key("file").value(served->file());
  text.key("loaded").value(served->loaded());
  write_limits(text, service.limits());
  write_models(text, service);
  text.end_object();
  return text.take();
}

[[nodiscard]] Json nothing() { return object_schema("", {}); }
[[nodiscard]] Json status_schema() {
  return object_schema("", {{"status", text_schema("ok"), true}});
}
constexpr const char* kOk = R"({"status":"ok"})";

}  // namespace

Operation model_operation() {
  Json parameters =
      object_schema("The parameters that it was trained with, those without effect left out", {});
  parameters.erase("properties");
  parameters["additionalProperties"] = {{"type", "string"}};
  return {.name = "model",
          .summary = "Describe the model that answers",
          .methods = {Method::kGet},
          .path = "/v1/model",
          .cost = Cost::kAtOnce,
          .parameters = nothing(),
          .answer = object_schema(
              "", {fingerprint_member(),
                   {"algorithm", text_schema(""), true},
                   {"feedback", text_schema("implicit or explicit"), true},
                   {"scale", object_schema("Of the ratings that it was trained on; only where "
                                           "feedback is explicit",
                                           {{"lowest", number_schema(""), true},
                                            {"highest", number_schema(""), true}})},
                   {"users", count_schema(""), true},
                   {"items", count_schema(""), true},
                   {"interactions", count_schema(""), true},
                   {"has_titles", {{"type", "boolean"}}, true},
                   {"can", list_schema("What it has answers to", text_schema("")), true},
                   {"parameters", std::move(parameters), true},
                   {"trained", text_schema("UTC, or empty where unknown"), true},
                   {"source", text_schema("The file that it was trained on"), true},
                   {"file", text_schema("The model file, without its folder"), true},
                   {"loaded", text_schema("UTC"), true},
                   {"limits", limits_schema(), true}}),
          .run = describe_model,
          .of_one_model = true,
          .tool = true};
}

Operation health_operation() {
  return {.name = "health",
          .summary = "Whether the process lives",
          .methods = {Method::kGet},
          .path = "/healthz",
          .access = Access::kAnyone,
          .cost = Cost::kAtOnce,
          .parameters = nothing(),
          .answer = status_schema(),
          .run = [](const Service&, const Json&) { return std::string(kOk); },
          .is_probe = true};
}

Operation ready_operation() {
  return {.name = "ready",
          .summary = "Whether requests are answered",
          .methods = {Method::kGet},
          .path = "/readyz",
          .access = Access::kAnyone,
          .cost = Cost::kAtOnce,
          .parameters = nothing(),
          .answer = status_schema(),
          .run =
              [](const Service& service, const Json&) {
                for (std::size_t m = 0; m < service.split().size(); ++m) (void)service.model(m);
                if (service.ending()) throw Fault(FaultKind::kUnavailable, "the server is ending");
                return std::string(kOk);
              },
          .is_probe = true};
}

Operation metrics_operation() {
  return {
      .name = "metrics",
      .summary = "Counters, as Prometheus reads them",
      .methods = {Method::kGet},
      .path = "/metrics",
      .cost = Cost::kAtOnce,
      .parameters = nothing(),
      .answer = text_schema(""),
      .content_type = "text/plain; version=0.0.4; charset=utf-8",
      .run = [](const Service& service, const Json&) { return service.metrics().text(service); },
      .is_probe = true};
}

Operation openapi_operation() {
  // Strangers may ask for it, so it is made once; the operations of a service stay as they are.
  struct Made {
    std::once_flag once;
    std::string text;
  };
  return {.name = "openapi",
          .summary = "This interface, as OpenAPI 3.1",
          .methods = {Method::kGet},
          .path = "/openapi.json",
          .access = Access::kAnyone,
          .cost = Cost::kAtOnce,
          .parameters = nothing(),
          .answer = {{"type", "object"}},
          .run = [made = std::make_shared<Made>()](const Service& service, const Json&) {
            std::call_once(made->once, [&] { made->text = openapi(service.operations()).dump(); });
            return made->text;
          }};
}

}  // namespace likewise::server
