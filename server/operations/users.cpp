// SPDX-License-Identifier: Apache-2.0
/// What is known of a user: GET and DELETE /v1/users/{user}.
#include <algorithm>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "likewise/error.h"
#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

/// A model, and who the user is to it without stored events.
struct Acquaintance {
  std::size_t place = 0;
  std::shared_ptr<const ServedModel> model;
  std::optional<Index> row;
};

[[nodiscard]] Acquaintance acquaintance_of(const Service& service, std::size_t place,
                                           const std::string& user) {
  Acquaintance one{place, service.model(place), {}};
  if (!service.is_erased(*one.model, user)) one.row = one.model->model().users.find(user);
  return one;
}

/// The model that is named; else all that know the user, the user's own first. That one alone where
/// none does.
[[nodiscard]] std::vector<Acquaintance> acquaintances_of(const Service& service,
                                                         const Json& request,
                                                         const std::string& user) {
  const std::size_t own = model_for(service, request, user);
  std::vector<Acquaintance> all{acquaintance_of(service, own, user)};
  if (named_model(service, request)) return all;
  for (std::size_t m = 0; m < service.split().size(); ++m) {
    if (m == own) continue;
    Acquaintance other = acquaintance_of(service, m, user);
    if (other.row) all.push_back(std::move(other));
  }
  if (!all.front().row && all.size() > 1) all.erase(all.begin());
  return all;
}

void write_model(JsonText& text, const Service& service, const Acquaintance& one) {
  text.key("model").value(one.model->fingerprint());
  if (!service.split().is_of_one()) text.key("served_by").value(service.split().names()[one.place]);
}

void write_history(JsonText& text, const Acquaintance& one, std::size_t most) {
  const Model& model = one.model->model();
  const FoldInRow history = one.row ? history_of(model, *one.row) : FoldInRow{};
  text.key("history").begin_array();
  for (std::size_t e = 0; e < std::min(most, history.columns.size()); ++e) {
    text.begin_object();
    write_item(text, model.items.name(history.columns[e]),
               one.model->queries().titles().of(history.columns[e]));
    text.key("value").value(history.values[e]).end_object();
  }
  text.end_array();
}

void write_others(JsonText& text, const Service& service, std::span<const Acquaintance> others,
                  std::size_t most) {
  if (others.empty()) return;
  text.key("others").begin_array();
  for (const Acquaintance& one : others) {
    text.begin_object();
    write_model(text, service, one);
    write_history(text, one, most);
    text.end_object();
  }
  text.end_array();
}

void write_events(JsonText& text, std::span<const StoredEvent> events) {
  text.key("events").begin_array();
  for (const StoredEvent& one : events) {
    text.begin_object().key("item").value(one.event.item);
    if (one.event.value) text.key("value").value(*one.event.value);
    text.key("time");
    one.event.time % kPerSecond == 0 ? text.value(one.event.time / kPerSecond)
                                     : text.value(static_cast<double>(one.event.time) / kPerSecond);
    if (!one.event.key.empty()) text.key("key").value(one.event.key);
    text.end_object();
  }
  text.end_array();
}

/// The histories that models may use, and what the store has.
[[nodiscard]] std::string tell_user(const Service& service, const Json& request) {
  const std::string user = id_of(request["user"]);
  const std::vector<Acquaintance> models = acquaintances_of(service, request, user);
  const std::vector<StoredEvent> events =
      service.has_events() ? service.events().history(user) : std::vector<StoredEvent>();
  if (!models.front().row && events.empty()) {
    throw Fault(FaultKind::kNotFound, fmt::format("nothing is known of user '{}'", printable(user)),
                "user");
  }
  JsonText text;
  text.begin_object();
  write_model(text, service, models.front());
  text.key("user").value(user);
  const auto most = request.value("n", std::numeric_limits<std::size_t>::max());
  write_history(text, models.front(), most);
  write_events(text, std::span(events).last(std::min(most, events.size())));
  write_others(text, service, std::span(models).subspan(1), most);
  text.end_object();
  return text.take();
}

[[nodiscard]] std::string erase(const Service& service, const Json& request) {
  const EventStore::Erased erased = service.events().erase(id_of(request["user"]));
  JsonText text;
  text.begin_object().key("erased").value(erased.events).end_object();
  return text.take();
}

[[nodiscard]] Json told_user() {
  const Json of_model = object_schema("", {{"item", text_schema(""), true},
                                           {"title", text_schema("")},
                                           {"value", number_schema(""), true}});
  const Json of_store = object_schema("", {{"item", text_schema(""), true},
                                           {"value", number_schema("")},
                                           {"time", number_schema("Seconds since 1970"), true},
                                           {"key", text_schema("")}});
  return object_schema("", {fingerprint_member(),
                            {"user", text_schema(""), true},
                            {"history", list_schema("What the model learned", of_model), true},
                            {"events", list_schema("What the store has", of_store), true}});
}

}  // namespace

Operation user_operation() {
  return {.name = "user",
          .summary = "All that is known of a user: what models learned, and stored events",
          .methods = {Method::kGet},
          .path = "/v1/users/{user}",
          .cost = Cost::kStored,
          .parameters = object_schema(
              "", {{"user", id_schema("The user's id"), true},
                   {"n", whole_schema("At most so many of each history, and of the events the "
                                      "newest. Absent: all",
                                      1, 1'000'000)}}),
          .answer = told_user(),
          .faults = question_faults(),
          .run = tell_user,
          .of_one_model = true};
}

Operation erase_operation() {
  return {.name = "erase",
          .summary =
              "Erase a user: stored events are deleted, and what a model of before has "
              "learned of the user is not used",
          .methods = {Method::kDelete},
          .path = "/v1/users/{user}",
          .access = Access::kWrite,
          .cost = Cost::kStored,
          .parameters = object_schema("", {{"user", id_schema("The user's id"), true}}),
          .answer = object_schema("", {{"erased", count_schema("Events"), true}}),
          .faults = {FaultKind::kStorageFull},
          .run = erase};
}

}  // namespace likewise::server
