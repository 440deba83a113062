// SPDX-License-Identifier: Apache-2.0
/// POST /v1/events, and what a user did: GET and DELETE /v1/users/{user}.
#include <future>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "server/operations/operations.h"
#include "server/service.h"

namespace likewise::server {
namespace {

/// Throws Fault naming `where`, the event's place in its list.
[[nodiscard]] Event event_of(const Json& json, Microseconds at, const std::string& where) {
  Event event{id_of(json["user"]), id_of(json["item"]), value_in(json, where), at, {}};
  const auto time = json.find("time");
  if (time != json.end()) event.time = microseconds_of(time->get<double>());
  event.key = json.value("key", "");
  try {
    check_event(event, at);
  } catch (const Error& error) {
    throw Fault(FaultKind::kInvalidArgument, error.what(), where);
  }
  return event;
}

[[nodiscard]] std::vector<Event> events_in(const Json& request) {
  const Microseconds at = now();
  if (!request.contains("events")) {
    if (!request.contains("item")) {
      throw Fault(FaultKind::kInvalidArgument, "an event needs an item", "item");
    }
    return {event_of(request, at, "")};
  }
  if (request.size() > 1) {
    throw Fault(FaultKind::kInvalidArgument,
                "beside a list of events there is nothing: each has an item of its own", "events");
  }
  std::vector<Event> events;
  for (const Json& one : request["events"]) {
    events.push_back(event_of(one, at, fmt::format("events[{}]", events.size())));
  }
  return events;
}

[[nodiscard]] std::string acknowledged(const Service& service, const Appended& appended) {
  for (const StoredEvent& one : appended.events) {
    if (one.position > 0) service.follows().event(one.event.user, one.event.item, one.event.time);
  }
  const auto all = std::ssize(appended.events);
  JsonText text;
  text.begin_object().key("accepted").value(all);
  text.key("repeated").value(all - appended.stored()).end_object();
  return text.take();
}

/// Several requests are one commit.
[[nodiscard]] std::vector<Outcome> store_together(const Service& service,
                                                  std::span<const Json* const> requests) {
  std::vector<std::promise<Outcome>> promises(requests.size());
  for (std::size_t r = 0; r < requests.size(); ++r) {
    try {
      service.events().submit(events_in(*requests[r]), [&, r](Appended appended) {
        try {
          if (appended.error) std::rethrow_exception(appended.error);
          promises[r].set_value(acknowledged(service, appended));
        } catch (...) {
          promises[r].set_value(current_fault());
        }
      });
    } catch (...) {
      promises[r].set_value(current_fault());
    }
  }
  std::vector<Outcome> outcomes;
  for (auto& promise : promises) outcomes.push_back(promise.get_future().get());
  return outcomes;
}

[[nodiscard]] std::string store(const Service& service, const Json& request) {
  return acknowledged(service, service.events().append(events_in(request)));
}

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

void write_history(JsonText& text, const Acquaintance& one) {
  const Model& model = one.model->model();
  const FoldInRow history = one.row ? history_of(model, *one.row) : FoldInRow{};
  text.key("history").begin_array();
  for (std::size_t e = 0; e < history.columns.size(); ++e) {
    text.begin_object();
    write_item(text, model.items.name(history.columns[e]),
               one.model->queries().titles().of(history.columns[e]));
    text.key("value").value(history.values[e]).end_object();
  }
  text.end_array();
}

void write_others(JsonText& text, const Service& service, std::span<const Acquaintance> others) {
  if (others.empty()) return;
  text.key("others").begin_array();
  for (const Acquaintance& one : others) {
    text.begin_object();
    write_model(text, service, one);
    write_history(text, one);
    text.end_object();
  }
  text.end_array();
}

void write_events(JsonText& text, const std::vector<StoredEvent>& events) {
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
  write_history(text, models.front());
  write_events(text, events);
  write_others(text, service, std::span(models).subspan(1));
  text.end_object();
  return text.take();
}

[[nodiscard]] std::string erase(const Service& service, const Json& request) {
  const EventStore::Erased erased = service.events().erase(id_of(request["user"]));
  JsonText text;
  text.begin_object().key("erased").value(erased.events).end_object();
  return text.take();
}

[[nodiscard]] std::vector<Member> members_of_an_event(bool required) {
  return {{"user", not_empty(id_schema("Who", kLongestId)), required},
          {"item",
           not_empty(id_schema("What; one that the model does not know joins at its next update",
                               kLongestId)),
           required},
          {"value", number_schema("As in training: a rating, or a count. Absent: a like")},
          {"time", number_schema("Seconds since 1970. Absent: now")},
          {"key", not_empty(text_schema(
                      "Of events with one key the first is kept: for sending again", kLongestId))}};
}

[[nodiscard]] Json events_parameters(const Limits& limits) {
  std::vector<Member> members = members_of_an_event(false);
  members.push_back({"events", list_schema("Several", object_schema("", members_of_an_event(true)),
                                           limits.events)});
  return with_one_of(object_schema("", std::move(members)), {"user", "events"});
}

[[nodiscard]] Json user_parameters() {
  return object_schema("", {{"user", id_schema("The user's id"), true}});
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

Operation events_operation(const Limits& limits) {
  return {.name = "events",
          .summary = "Store what users did: on the disk before it is answered, and counted at once",
          .methods = {Method::kPost},
          .path = "/v1/events",
          .access = Access::kWrite,
          .cost = Cost::kStored,
          .parameters = events_parameters(limits),
          .answer = object_schema(
              "", {{"accepted", count_schema("Events that are stored"), true},
                   {"repeated", count_schema("Of these, whose key was there already"), true}}),
          .status = 202,
          .faults = {FaultKind::kStorageFull},
          .run = store,
          .run_together = store_together};
}

Operation user_operation() {
  return {.name = "user",
          .summary = "All that is known of a user: what models learned, and stored events",
          .methods = {Method::kGet},
          .path = "/v1/users/{user}",
          .cost = Cost::kStored,
          .parameters = user_parameters(),
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
          .parameters = user_parameters(),
          .answer = object_schema("", {{"erased", count_schema("Events"), true}}),
          .faults = {FaultKind::kStorageFull},
          .run = erase};
}

}  // namespace likewise::server
